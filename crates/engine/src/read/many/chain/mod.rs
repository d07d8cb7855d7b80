//! Tables of many files, one after the other, read as one.

mod index;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt, ready, try_join_all};
use rootfile::Array;
use rootfile::tree::{ChainElement, TreeIndex};
use tokio::sync::OnceCell;

pub(crate) use index::{index_of, is_looked_up};

use super::opener::Opener;
use super::scan::{FriendLocation, OpenAhead, ScanBatches, ScanRequest, TableLocation};
use crate::read::core::alike::{ColumnTypes, TypeRule, concatenated};
use crate::read::core::batches::{BatchSender, Batches};
use crate::read::core::columns::{Batch, SkippedColumn};
use crate::read::core::cut::Cut;
use crate::read::core::expressions::Expressions;
use crate::read::core::footprint::ReadFootprint;
use crate::read::core::friends::{EntryLookup, Friend, FriendList};
use crate::read::core::lazy::{LazyBatches, LazyColumns, Learning};
use crate::read::core::names::NameList;
use crate::read::core::request::ColumnRequest;
use crate::read::core::skip::OnError;
use crate::read::core::spec::{ColumnSpec, FormulaSpec, Wanted};
use crate::read::core::steps::{ReadPriority, Step, borders};
use crate::read::core::table::{Columns, Table, TablePlace, not_added};
use crate::read::file::File;
use crate::read::file::beside::beside;
use crate::read::file::session::Session;
use index::ChainIndex;
use remote::address::Address;
use remote::{Error, ErrorKind, Result};

/// Which part of the memory budget the metadata of files may take that were opened to be counted.
const MEMORY_PART: u64 = 8;

/// Tables of many files, one after the other: a `TChain`, or tables that are read as one. Cheap to
/// clone.
#[derive(Clone)]
pub struct Chain {
    inner: Arc<Inner>,
}

struct Inner {
    session: Session,
    /// Its name.
    place: TablePlace,
    aliases: Vec<(String, String)>,
    friends: FriendList,
    /// The tables, those that are open with themselves.
    links: Vec<TableLocation>,
    /// First entries of the tables and, last, the end.
    starts: Vec<u64>,
    /// The first of the tables, which decides the columns.
    lead: Arc<dyn Table>,
    /// `None` within where the tables have no index; not set before it is asked for.
    index: OnceCell<Option<ChainIndex>>,
}

/// Columns of a chain. Cheap to clone.
#[derive(Clone)]
pub struct ChainColumns {
    chain: Chain,
    /// Friends of the whole chain that something is read of.
    friends: Arc<[Friend]>,
    chosen: Vec<ColumnRequest>,
    /// The same of the first table.
    lead: Box<dyn Columns>,
    /// The columns that a caller gets, where these are others.
    computed: Option<Arc<ComputedColumns>>,
    /// As [`TableLocation::within`], of the chain.
    within: Option<(u64, u64)>,
}

/// Columns that are computed in each table by its own types.
struct ComputedColumns {
    wanted: Arc<[Wanted]>,
    /// Those of the first table, without entries.
    empty: Vec<(String, Array)>,
}

/// Tables of many files as one: [`Engine::chain`](crate::Engine::chain).
pub(crate) async fn of_places(session: &Session, places: Vec<TableLocation>) -> Result<Chain> {
    let Some(first) = places.first() else {
        return Err(Error::new(ErrorKind::InvalidArgument, "a chain of no files"));
    };
    let name: Arc<str> = first.path.clone().unwrap_or_default().into();
    let place = TablePlace { asked: name.clone(), path: name };
    linked(session, place, Vec::new(), FriendList::default(), places).await
}

/// The chain at a path of a file (ROOT: `TChain`).
pub(crate) async fn in_file(session: &Session, file: &File, path: &str) -> Result<Chain> {
    let chain = file.reading(|format, known| format.chain(known, path)).await?;
    file.learn(|format, known| format.has_record(known, path));
    let place = TablePlace { asked: path.into(), path: file.found(path).await?.path.into() };
    let path = &*place.path.clone();
    let links = places(file.place()?, &chain.links);
    if chain.links.is_empty() {
        let message = format!("the chain {path} names no files");
        return Err(Error::new(ErrorKind::InvalidArgument, message).with_url(file.url()));
    }
    let friends = FriendList::new(file.clone(), path, chain.friends);
    let linked = linked(session, place, chain.aliases, friends, links?).await;
    linked.map_err(|error| {
        let at = file.url();
        error.with_advice(format!("it is one of the files that the chain {path} in {at} names"))
    })
}

async fn linked(
    session: &Session,
    place: TablePlace,
    aliases: Vec<(String, String)>,
    friends: FriendList,
    mut links: Vec<TableLocation>,
) -> Result<Chain> {
    // The first one has the columns of the chain.
    let wanted = |(at, place): &(usize, &TableLocation)| *at == 0 || place.count.is_none();
    let unknown: Vec<usize> = links.iter().enumerate().filter(wanted).map(|(at, _)| at).collect();
    let mut opens =
        OpenAhead::new(session.clone(), unknown.iter().map(|at| links[*at].clone()).collect());
    let mut room = session.config().memory_bytes_max / MEMORY_PART;
    let mut lead = None;
    for at in unknown {
        let Some(table) = opens.next().await.transpose()? else { break };
        links[at].expect(&*table)?;
        links[at].count = Some(table.num_entries());
        lead.get_or_insert_with(|| table.clone());
        if let Some(left) = room.checked_sub(table.file().metadata_bytes()) {
            room = left;
            links[at].open = Some(table);
        }
    }
    let gone = || Error::new(ErrorKind::Cancelled, "the files of a chain were given up");
    Ok(Chain::new(session, place, aliases, friends, links, lead.ok_or_else(gone)?))
}

/// Where the tables of a chain are that a file at `own` holds.
fn places(own: &Address, links: &[ChainElement]) -> Result<Vec<TableLocation>> {
    let mut named: BTreeMap<String, &str> = BTreeMap::new();
    let mut places = Vec::with_capacity(links.len());
    for link in links {
        let url = beside(own, &link.file)?.as_str().to_owned();
        let before = named.entry(url.clone()).or_insert(&link.file);
        if *before != link.file {
            let message = format!("{before} and {} are not where the chain names them", link.file);
            let error = Error::new(ErrorKind::NotFound, message).with_url(own.to_string());
            return Err(error.with_advice(format!("both would be {url}")));
        }
        let path = Some(link.tree.clone());
        let count = link.entries;
        places.push(TableLocation { url, path, count, ..TableLocation::default() });
    }
    Ok(places)
}

impl Chain {
    fn new(
        session: &Session,
        place: TablePlace,
        aliases: Vec<(String, String)>,
        friends: FriendList,
        links: Vec<TableLocation>,
        lead: Arc<dyn Table>,
    ) -> Self {
        let mut starts = vec![0u64];
        for link in &links {
            let start = starts[starts.len() - 1];
            starts.push(start.saturating_add(link.count.unwrap_or(0)));
        }
        let session = session.clone();
        let index = OnceCell::new();
        let inner = Inner { session, place, aliases, friends, links, starts, lead, index };
        Chain { inner: Arc::new(inner) }
    }

    /// One table as a chain, to be read with chains.
    pub(crate) fn of_one(session: &Session, table: &Arc<dyn Table>) -> Self {
        let url = table.file().url().to_owned();
        let path = Some(table.asked().to_owned());
        let open = Some(table.clone());
        let count = Some(table.num_entries());
        let links = vec![TableLocation { url, path, open, count, ..TableLocation::default() }];
        let friends = FriendList::default();
        let place = TablePlace { asked: table.asked().into(), path: table.path().into() };
        Chain::new(session, place, Vec::new(), friends, links, table.clone())
    }

    /// The path of the chain in its file or, where it is in none, the name of its first table.
    pub fn name(&self) -> &str {
        &self.inner.place.path
    }

    /// The first of the tables, which decides the columns.
    pub fn lead(&self) -> &Arc<dyn Table> {
        &self.inner.lead
    }

    /// As [`Chain::lead`], which of chains of chains is one itself.
    pub fn first(&self) -> &Arc<dyn Table> {
        match self.inner.lead.downcast_ref::<Chain>() {
            Some(chain) => chain.first(),
            None => &self.inner.lead,
        }
    }

    pub fn num_entries(&self) -> u64 {
        self.inner.starts.last().copied().unwrap_or(0)
    }

    /// Address, path and entries (half open, of the chain) of each table.
    pub fn links(&self) -> impl Iterator<Item = (&str, &str, Range<u64>)> {
        let entries = self.inner.starts.windows(2).map(|pair| pair[0]..pair[1]);
        self.inner.links.iter().zip(entries).map(|(place, entries)| {
            (&*place.url, place.path.as_deref().unwrap_or_default(), entries)
        })
    }

    /// Chooses columns, by those of the first table.
    pub(crate) fn columns(&self, wanted: &ColumnSpec) -> Result<ChainColumns> {
        Ok(self.chosen(Vec::new(), wanted, self.inner.lead.select(wanted)?))
    }

    /// As [`Chain::columns`], also of friends.
    pub(crate) fn columns_with<'a>(
        &'a self,
        friends: Vec<Friend>,
        wanted: &'a ColumnSpec,
        cut: Option<&'a Cut>,
    ) -> BoxFuture<'a, Result<ChainColumns>> {
        Box::pin(async move {
            let Inner { session, lead, .. } = &*self.inner;
            let friends = index::beside(&**lead, friends).await?;
            let first: Vec<Friend> = friends.iter().map(|friend| self.first_of(friend)).collect();
            let lead = session.select(lead, &first, wanted, cut).await?;
            Ok(self.chosen(friends, wanted, lead))
        })
    }

    fn chosen(
        &self,
        mut friends: Vec<Friend>,
        wanted: &ColumnSpec,
        lead: Box<dyn Columns>,
    ) -> ChainColumns {
        let used: Vec<String> = lead.friends().into_iter().map(str::to_owned).collect();
        friends.retain(|friend| used.contains(&friend.name));
        let chosen = wanted.requested().map_or_else(|| lead.requests(), <[_]>::to_vec);
        let friends = friends.into();
        ChainColumns { chain: self.clone(), friends, chosen, lead, computed: None, within: None }
    }

    /// A friend as it is beside the first table.
    fn first_of(&self, friend: &Friend) -> Friend {
        if friend.lookup == EntryLookup::Index {
            return friend.clone();
        }
        let sometimes_lacks = friend.lacks_entries(self.num_entries());
        let table = match friend.table.downcast_ref::<Chain>() {
            Some(chain) => chain.lead().clone(),
            None => friend.table.clone(),
        };
        Friend { table, sometimes_lacks, ..friend.clone() }
    }
}

impl ChainColumns {
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The same columns of the first table.
    pub fn lead(&self) -> &dyn Columns {
        &*self.lead
    }

    fn within(&self, entries: Range<u64>) -> Range<u64> {
        let end = entries.end.min(self.chain.num_entries());
        entries.start.min(end)..end
    }

    /// The tables with some of the entries, each with its friends, and their first entries.
    pub(crate) fn places(&self, entries: &Range<u64>) -> Vec<(u64, TableLocation)> {
        let starts = &self.chain.inner.starts;
        let by_number = |friend: &&Friend| friend.lookup != EntryLookup::Index;
        let of_friends = self.friends.iter().filter(by_number).flat_map(|friend| {
            let chain = friend.table.downcast_ref::<Chain>();
            chain.map_or(&[][..], |chain| &chain.inner.starts)
        });
        let inside = starts.iter().chain(of_friends).copied();
        let inside = inside.filter(|start| entries.start < *start && *start < entries.end);
        let mut borders: Vec<u64> = inside.chain([entries.start, entries.end]).collect();
        borders.sort_unstable();
        borders.dedup();
        let place = |pair: &[u64]| {
            let at = link_of(starts, pair[0]);
            let first = starts[at];
            let friends = self.friends.iter().map(|friend| self.placed(friend, first, pair[0]));
            let friends = friends.collect();
            let entries = Some(pair[0] - first..pair[1] - first);
            let (before, total) = self.within.unwrap_or((0, self.chain.num_entries()));
            let within = Some((before.saturating_add(first), total));
            (first, TableLocation { entries, friends, within, ..self.chain.link(at) })
        };
        borders.windows(2).map(place).collect()
    }

    /// A friend beside the table that begins at `first`, for entries from `start` on.
    fn placed(&self, friend: &Friend, first: u64, start: u64) -> FriendLocation {
        let Friend { name, lookup, .. } = friend.clone();
        let lacks = friend.lacks_entries(self.chain.num_entries());
        let opened = |table: &Arc<dyn Table>, entry_offset: i64| {
            let url = table.file().url().to_owned();
            let place =
                TableLocation { url, open: Some(table.clone()), ..TableLocation::default() };
            FriendLocation { name: name.clone(), place, entry_offset, lacks, lookup }
        };
        let by_number = lookup != EntryLookup::Index;
        let chain = friend.table.downcast_ref::<Chain>().filter(|_| by_number);
        let Some(chain) = chain else {
            return opened(&friend.table, friend.entry_offset.saturating_add_unsigned(first));
        };
        let start = friend.to_friend_entry(start);
        if start >= chain.num_entries() {
            // Behind its end: of any of its tables no entry.
            let lead = chain.lead();
            return opened(lead, i64::try_from(lead.num_entries()).unwrap_or(i64::MAX));
        }
        let at = link_of(&chain.inner.starts, start);
        let entry_offset = friend.entry_offset.saturating_add_unsigned(first);
        let entry_offset = entry_offset.saturating_sub_unsigned(chain.inner.starts[at]);
        FriendLocation { name, place: chain.link(at), entry_offset, lacks, lookup }
    }

    /// The borders of the steps in the first of the tables.
    async fn first_steps(&self, entries: Range<u64>, step: Step) -> Result<Vec<u64>> {
        let entries = self.within(entries);
        let Some((first, place)) = self.places(&entries).into_iter().next() else {
            return Ok(vec![entries.start]);
        };
        let end = first + place.entries.map_or(0, |entries| entries.end);
        let count = self.lead.step_entries_of(step, end - entries.start).await?;
        Ok(borders(&(entries.start..end), count, &[]))
    }

    /// The same columns of one of the tables.
    fn of_table<'a>(&'a self, place: &'a TableLocation) -> BoxFuture<'a, Result<Box<dyn Columns>>> {
        Box::pin(async move {
            let (table, friends) = place.open_with_friends(&self.chain.inner.session).await?;
            let wanted = ColumnSpec::Requested(self.chosen.clone());
            self.chain.inner.session.select(&table, &friends, &wanted, None).await
        })
    }

    /// Goes through one of the tables without reading columns that are never touched.
    async fn lazy(
        &self,
        place: TableLocation,
        step: Step,
        types: &mut ColumnTypes,
    ) -> Result<LazyBatches> {
        let columns = self.of_table(&place).await?;
        types.begin(&columns.types())?;
        columns.lazy_batches(place.entries.unwrap_or(0..u64::MAX), step).await
    }

    /// The ranges that reading entries would fetch of each table.
    async fn all_outlines(&self, entries: Range<u64>) -> Result<Vec<ReadFootprint>> {
        let places = self.places(&self.within(entries));
        let footprints = async |(_, place): &(u64, TableLocation)| {
            let columns = self.of_table(place).await?;
            columns.footprints(place.entries.clone().unwrap_or(0..u64::MAX)).await
        };
        Ok(try_join_all(places.iter().map(footprints)).await?.concat())
    }

    /// Reads in steps, none of which reaches over the end of a file; whole, all at once.
    fn read_in_steps(&self, cut: Option<&Cut>, entries: Range<u64>, step: Step) -> Batches {
        let entries = self.within(entries);
        let (firsts, places): (Vec<u64>, Vec<TableLocation>) =
            self.places(&entries).into_iter().unzip();
        let reads = self.chosen.clone();
        let wanted = match &self.computed {
            Some(computed) => ColumnSpec::Formulas(FormulaSpec {
                reads,
                wanted: computed.wanted.clone(),
                aliases: Vec::new(),
            }),
            None => ColumnSpec::Requested(reads),
        };
        let scan = ScanRequest {
            wanted,
            entries: 0..u64::MAX,
            step,
            cut: cut.cloned(),
            on_error: OnError::Raise,
        };
        let session = self.chain.inner.session.clone();
        let remote = self.lead.file().remote().clone();
        let empty: Vec<(String, Array)> = self.empty();
        let types = ColumnTypes::of(TypeRule::Common, &(self as &dyn Columns).types());
        Batches::start(&remote, async move |mut output: BatchSender| {
            let survivors = scan.cut.is_some().then(Vec::new);
            let columns = Vec::new();
            let left_out = Vec::new();
            let mut whole = Whole { entries, survivors, columns, empty, left_out };
            let mut parts = ScanBatches::new(session, places, scan).with_types(types);
            while let Some(part) = parts.next_unreported().await {
                let part = part?;
                let batch = part.batch.shifted(firsts[part.file]);
                if step == Step::Whole {
                    whole.add(batch);
                } else if !output.hand_over(batch).await {
                    return Ok(());
                }
            }
            if step == Step::Whole && !whole.entries.is_empty() {
                output.hand_over(whole.joined()?).await;
            }
            Ok(())
        })
    }
}

impl Table for Chain {
    fn list(&self) -> &NameList {
        self.lead().list()
    }

    fn file(&self) -> &File {
        self.lead().file()
    }

    fn path(&self) -> &str {
        self.name()
    }

    fn asked(&self) -> &str {
        &self.inner.place.asked
    }

    fn num_entries(&self) -> u64 {
        Chain::num_entries(self)
    }

    fn aliases(&self) -> Vec<(String, String)> {
        let mut aliases = self.first().aliases();
        aliases.extend_from_slice(&self.inner.aliases);
        aliases
    }

    fn friend_lists(&self) -> Vec<&FriendList> {
        let mut books = vec![&self.inner.friends];
        books.extend(self.lead().friend_lists());
        books
    }

    fn has(&self, name: &str) -> bool {
        self.lead().has(name)
    }

    fn require(&self, name: &str) -> Result<Box<dyn Columns>> {
        self.lead().require(name)
    }

    fn select(&self, wanted: &ColumnSpec) -> Result<Box<dyn Columns>> {
        Ok(Box::new(self.columns(wanted)?))
    }

    fn no_columns(&self) -> Box<dyn Columns> {
        Box::new(self.chosen(Vec::new(), &ColumnSpec::Requested(vec![]), self.lead().no_columns()))
    }

    fn index(&self) -> Result<Option<Arc<TreeIndex>>> {
        self.known_index()
    }
}

impl Columns for ChainColumns {
    fn of(&self) -> &dyn Table {
        &self.chain
    }

    fn table(&self) -> Arc<dyn Table> {
        Arc::new(self.chain.clone())
    }

    fn boxed(&self) -> Box<dyn Columns> {
        Box::new(self.clone())
    }

    fn file(&self) -> &File {
        self.lead.file()
    }

    fn len(&self) -> usize {
        self.computed.as_ref().map_or_else(|| self.lead.len(), |computed| computed.empty.len())
    }

    fn names(&self) -> Vec<&str> {
        match &self.computed {
            Some(computed) => computed.empty.iter().map(|(name, _)| &**name).collect(),
            None => self.lead.names(),
        }
    }

    fn empty(&self) -> Vec<(String, Array)> {
        match &self.computed {
            Some(computed) => computed.empty.clone(),
            None => self.lead.empty(),
        }
    }

    fn pick(&self, positions: &[usize]) -> Box<dyn Columns> {
        if let Some(computed) = &self.computed {
            let wanted = positions.iter().map(|at| computed.wanted[*at].clone()).collect();
            let empty = positions.iter().map(|at| computed.empty[*at].clone()).collect();
            let computed = Some(Arc::new(ComputedColumns { wanted, empty }));
            return Box::new(ChainColumns { computed, ..self.clone() });
        }
        let chosen = positions.iter().map(|at| self.chosen[*at].clone()).collect();
        Box::new(ChainColumns { chosen, lead: self.lead.pick(positions), ..self.clone() })
    }

    fn computing(&self, wanted: &Arc<[Wanted]>) -> Result<Option<Box<dyn Columns>>> {
        let lead = Expressions::new(self.lead.clone(), None, Some(wanted.clone()), Vec::new())?;
        let empty = lead.types()?.columns;
        let computed = Some(Arc::new(ComputedColumns { wanted: wanted.clone(), empty }));
        Ok(Some(Box::new(ChainColumns { computed, ..self.clone() })))
    }

    fn count_within(&mut self, place: (u64, u64)) {
        self.within = Some(place);
    }

    fn position(&self, others: &dyn Columns, at: usize) -> Option<usize> {
        if self.computed.is_some() {
            return None;
        }
        self.lead.position(&*others.downcast_ref::<ChainColumns>()?.lead, at)
    }

    fn add(&mut self, others: &dyn Columns, at: usize) -> Result<usize> {
        let of_chain = others.downcast_ref::<ChainColumns>().filter(|_| self.computed.is_none());
        let Some(others) = of_chain else {
            return Err(not_added(self.chain.name(), others));
        };
        let added = self.lead.add(&*others.lead, at)?;
        if added == self.chosen.len() {
            self.chosen.push(others.chosen[at].clone());
        }
        Ok(added)
    }

    fn bytes_per_entry(&self) -> BoxFuture<'_, Result<f64>> {
        self.lead.bytes_per_entry()
    }

    /// As far as the first table shows.
    fn share_a_piece(&self, before: u64, after: u64) -> bool {
        let starts = &self.chain.inner.starts;
        let is_near = || self.lead.share_a_piece(0, after.saturating_sub(before));
        link_of(starts, before) == link_of(starts, after) && is_near()
    }

    fn footprints(&self, entries: Range<u64>) -> BoxFuture<'_, Result<Vec<ReadFootprint>>> {
        self.all_outlines(entries).boxed()
    }

    /// Each table plans its own.
    fn plans_steps(&self) -> bool {
        false
    }

    fn step_entries_of(&self, step: Step, total: u64) -> BoxFuture<'_, Result<u64>> {
        self.lead.step_entries_of(step, total)
    }

    fn steps(&self, entries: Range<u64>, step: Step) -> BoxFuture<'_, Result<Vec<u64>>> {
        self.first_steps(entries, step).boxed()
    }

    /// Each table is read with its place in the chain for its rank.
    fn start(
        &self,
        entries: Range<u64>,
        step: Step,
        _rank: ReadPriority,
    ) -> BoxFuture<'_, Result<Batches>> {
        async move { Ok(self.read_in_steps(None, entries, step)) }.boxed()
    }

    fn start_cut<'a>(
        &'a self,
        cut: &'a Cut,
        entries: Range<u64>,
        step: Step,
        _rank: ReadPriority,
    ) -> Option<BoxFuture<'a, Result<Batches>>> {
        Some(async move { Ok(self.read_in_steps(Some(cut), entries, step)) }.boxed())
    }

    fn lazily(
        &self,
        entries: Range<u64>,
        step: u64,
        _learning: Learning,
    ) -> BoxFuture<'_, Result<Box<dyn LazyColumns>>> {
        if self.computed.is_some() {
            let message = "columns that are computed are not read one by one";
            let error = Error::new(ErrorKind::Unsupported, message).with_url(self.file().url());
            return ready(Err(error)).boxed();
        }
        let reader: Box<dyn LazyColumns> = Box::new(LazyChain {
            left: self.places(&entries).into(),
            columns: self.clone(),
            // Whoever declares the columns before they are read has the types of the first table.
            types: ColumnTypes::of(TypeRule::First, &self.lead.types()),
            step: Step::Entries(step),
            present: None,
        });
        ready(Ok(reader)).boxed()
    }
}

/// The tables of a chain, one after the other.
struct LazyChain {
    columns: ChainColumns,
    /// Those to come, with the first entries of their tables.
    left: VecDeque<(u64, TableLocation)>,
    types: ColumnTypes,
    step: Step,
    present: Option<(u64, Box<LazyBatches>)>,
}

impl LazyColumns for LazyChain {
    fn advance(&mut self) -> BoxFuture<'_, Option<Result<Range<u64>>>> {
        Box::pin(async {
            loop {
                if let Some((first, present)) = &mut self.present {
                    // Behind the last step that one stays the present one.
                    if let Some(next) = present.next().await {
                        return Some(next.map(|own| own.start + *first..own.end + *first));
                    }
                }
                let (first, place) = self.left.pop_front()?;
                match self.columns.lazy(place, self.step, &mut self.types).await {
                    Ok(batches) => self.present = Some((first, Box::new(batches))),
                    Err(error) => {
                        self.left.clear();
                        return Some(Err(error));
                    }
                }
            }
        })
    }

    fn touch(&mut self, column: usize, entries: Range<u64>) -> BoxFuture<'_, Result<Array>> {
        Box::pin(async move {
            match &self.present {
                Some((first, present)) => {
                    let own = entries.start - first..entries.end - first;
                    self.types.convert_one(column, present.get(column, own).await?)
                }
                None => Ok(self.columns.lead.empty_at(column)),
            }
        })
    }
}

/// The link that has an entry, which is none of the empty ones.
fn link_of(starts: &[u64], entry: u64) -> usize {
    starts.partition_point(|start| *start <= entry).saturating_sub(1)
}

/// All batches in one.
struct Whole {
    entries: Range<u64>,
    survivors: Option<Vec<Range<u64>>>,
    columns: Vec<Vec<Array>>,
    empty: Vec<(String, Array)>,
    left_out: Vec<SkippedColumn>,
}

impl Whole {
    fn add(&mut self, batch: Batch) {
        if let (Some(survivors), Some(runs)) = (&mut self.survivors, batch.survivors) {
            runs.into_iter().for_each(|run| crate::read::core::cut::add(survivors, run));
        }
        // Columns are left out from the first batch on.
        let left = |name: &String| batch.left_out.iter().any(|column| column.column == *name);
        self.empty.retain(|(name, _)| !left(name));
        self.left_out = batch.left_out;
        self.columns.resize_with(batch.columns.len(), Vec::new);
        for (parts, (_, array)) in self.columns.iter_mut().zip(batch.columns) {
            parts.push(array);
        }
    }

    fn joined(mut self) -> Result<Batch> {
        let named =
            std::mem::take(&mut self.columns).into_iter().zip(std::mem::take(&mut self.empty));
        let columns =
            named.map(|(parts, (name, empty))| Ok((name, concatenated(parts)?.unwrap_or(empty))));
        let columns = columns.collect::<Result<_>>()?;
        let Whole { entries, survivors, left_out, .. } = self;
        Ok(Batch { entries, survivors, columns, left_out })
    }
}
