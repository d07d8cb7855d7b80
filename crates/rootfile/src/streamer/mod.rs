//! Streamer infos: how each version of each class was written (ROOT: `TStreamerInfo`).
//!
//! A file carries the streamer infos of the classes in it. Together with builtin ones
//! they are compiled once, when the file is opened, into a [`ClassLayout`] for each version of a
//! class; reading an object then follows its layout without looking at names.

mod builtin;
mod collection;
mod layout;
mod read;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, OnceLock};

use crate::types::special::Special;
use crate::types::{cpp, names};

pub use collection::{Collection, Item};
pub use layout::{ClassLayout, Count, Member, MemberKind};

/// How one version of a class was written.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamerInfo {
    pub class: String,
    pub version: i32,
    /// Of the members' names and types (`fCheckSum`); stands for the version in classes that
    /// have none.
    pub checksum: u32,
    pub elements: Vec<StreamerElement>,
}

/// One base class or member (ROOT: `TStreamerElement` and classes derived from it).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StreamerElement {
    /// `TStreamerBase`, `TStreamerBasicType`, `TStreamerSTL`, …
    pub class: String,
    /// The member's name, or the base class's.
    pub name: String,
    /// The comment behind the member, which holds ranges of `Double32_t`.
    pub title: String,
    /// One of [`code`](crate::types::code).
    pub type_code: i32,
    /// Numbers in a fixed array, 0 where it is none (`fArrayLength`).
    pub array_len: u32,
    /// Its dimensions, the slowest first (`fMaxIndex`).
    pub dimensions: Vec<u32>,
    pub type_name: String,
    /// Version of the base class (`fBaseVersion`).
    pub base_version: i32,
    /// The member that counts this one's elements, and its class.
    pub count_name: String,
    pub count_class: String,
    /// Type of the items of a collection, one of [`code`](crate::types::code) where they are
    /// numbers (`fCtype`).
    pub item_code: i32,
    /// Fields that only writers of the element need.
    pub rest: ElementRest,
}

/// Fields of a streamer element that reading objects does not need.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ElementRest {
    /// Bits of the element's `TObject`: whether its title has a range (`kHasRange`).
    pub bits: u32,
    /// `sizeof` on the machine that wrote it (`fSize`).
    pub size: i32,
    /// Checksum of the base class (`fBaseCheckSum`, which lies in `fMaxIndex[1]`).
    pub base_checksum: u32,
    /// Version of the class that counts this member's elements (`fCountVersion`).
    pub count_version: i32,
    /// Which collection of the standard library it is (`fSTLtype`).
    pub collection: i32,
}

/// Position of a class in [`Streamers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassId(u32);

/// All classes that a file knows, and how their objects are read.
#[derive(Debug, Clone, PartialEq)]
pub struct Streamers {
    classes: Vec<Class>,
    ids: BTreeMap<Arc<str>, ClassId>,
    /// Of template classes, whose names are spelled in several ways.
    regular: BTreeMap<String, ClassId>,
    /// The classes that derive from each, found with the first question.
    heirs: OnceLock<BTreeMap<ClassId, Vec<ClassId>>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Class {
    pub(crate) name: Arc<str>,
    /// A streamer written by hand in ROOT, which takes precedence over streamer infos.
    pub(crate) special: Option<(Special, Arc<ClassLayout>)>,
    /// The layout of a pair of numbers follows from its name, also where there is no streamer info.
    pair: Option<Arc<ClassLayout>>,
    versions: Vec<Version>,
}

#[derive(Debug, Clone, PartialEq)]
struct Version {
    info: Arc<StreamerInfo>,
    layout: Arc<ClassLayout>,
}

impl Default for Streamers {
    fn default() -> Self {
        Streamers::builtin().clone()
    }
}

impl Streamers {
    /// The builtin ones alone: compiled once, since every open reads its file's with them.
    pub(crate) fn builtin() -> &'static Streamers {
        static BUILTIN: LazyLock<Streamers> = LazyLock::new(|| Streamers::new(Vec::new()));
        &BUILTIN
    }

    /// Compiles `infos`, and the builtin ones for classes that they do not describe. Versions that
    /// ROOT itself reads by hand are builtin first.
    pub fn new(infos: Vec<StreamerInfo>) -> Streamers {
        let mut streamers = Streamers {
            classes: Vec::new(),
            ids: BTreeMap::new(),
            regular: BTreeMap::new(),
            heirs: OnceLock::new(),
        };
        for (name, special) in Special::ALL {
            let id = streamers.intern(name);
            let layout = ClassLayout::of_names(Arc::from(*name), special.members());
            streamers.classes[id.0 as usize].special = Some((*special, Arc::new(layout)));
        }
        let builtin = |first: bool| {
            let infos =
                builtin::infos().iter().filter(move |(before_file, _)| *before_file == first);
            infos.map(|(_, info)| info.clone())
        };
        for info in builtin(true).chain(infos.into_iter().map(Arc::new)).chain(builtin(false)) {
            streamers.add(info);
        }
        streamers
    }

    /// The newest streamer info of a class, or that of `version`.
    pub fn info(&self, class: &str, version: Option<i32>) -> Option<&StreamerInfo> {
        let class = &self.classes[self.id(class)?.0 as usize];
        let found = match version {
            Some(version) => class.versions.iter().find(|known| known.info.version == version),
            None => class.newest_version(),
        };
        found.map(|found| &*found.info)
    }

    /// The streamer info of a class with that checksum.
    pub fn info_by_checksum(&self, class: &str, checksum: u32) -> Option<&StreamerInfo> {
        let versions = &self.classes[self.id(class)?.0 as usize].versions;
        versions.iter().map(|version| &*version.info).find(|info| info.checksum == checksum)
    }

    /// Every version of a class.
    pub(crate) fn versions(&self, class: &str) -> impl Iterator<Item = &StreamerInfo> {
        let class = self.id(class).map(|id| &self.classes[id.0 as usize]);
        class.into_iter().flat_map(|class| class.versions.iter().map(|version| &*version.info))
    }

    /// Names of the classes that derive from one.
    pub(crate) fn heirs(&self, base: &str) -> impl Iterator<Item = &str> {
        let all = self.heirs.get_or_init(|| self.all_heirs());
        let heirs = self.id(base).and_then(|id| all.get(&id));
        heirs.into_iter().flatten().map(|heir| &*self.class(*heir).name)
    }

    fn all_heirs(&self) -> BTreeMap<ClassId, Vec<ClassId>> {
        let mut heirs: BTreeMap<ClassId, Vec<ClassId>> = BTreeMap::new();
        for heir in (0..self.classes.len() as u32).map(ClassId) {
            let mut bases = vec![heir];
            let mut known = BTreeSet::from([heir]);
            while let Some(class) = bases.pop() {
                let versions = &self.class(class).versions;
                let direct = versions.iter().flat_map(|version| version.layout.bases());
                bases.extend(direct.filter(|base| known.insert(*base)));
            }
            for base in known.into_iter().filter(|base| *base != heir) {
                heirs.entry(base).or_default().push(heir);
            }
        }
        heirs
    }

    /// Every streamer info, those of the file first.
    pub fn infos(&self) -> impl Iterator<Item = &StreamerInfo> {
        self.classes.iter().flat_map(|class| class.versions.iter().map(|version| &*version.info))
    }

    /// The streamer infos of the file alone: the builtin ones have no checksum.
    pub fn infos_of_file(&self) -> impl Iterator<Item = &StreamerInfo> {
        self.infos().filter(|info| info.checksum != 0)
    }

    /// Whether `class` is `base` or derives from it, in any of its versions.
    pub fn inherits(&self, class: &str, base: &str) -> bool {
        const BASES_MAX: u32 = 32;
        self.inherits_within(class, base, BASES_MAX)
    }

    fn inherits_within(&self, class: &str, base: &str, depth: u32) -> bool {
        if class == base {
            return true;
        }
        let Some(id) = self.id(class).filter(|_| depth > 0) else { return false };
        self.classes[id.0 as usize].versions.iter().any(|version| {
            version
                .layout
                .bases()
                .any(|parent| self.inherits_within(&self.class(parent).name, base, depth - 1))
        })
    }

    /// A collection of the standard library by its name, and the streamer infos, which then have
    /// every class in that name; None for anything else, `std::string` and classes of the file
    /// among it.
    pub(crate) fn collection(&self, name: &str) -> Option<(Cow<'_, Streamers>, Collection)> {
        if !cpp::is_collection(name) || self.info(name, None).is_some() {
            return None;
        }
        let mut known = Cow::Borrowed(self);
        let found = Collection::parse(name, &mut |class| match known.id(class) {
            Some(id) => id,
            None => known.to_mut().intern(class),
        });
        found.ok().map(|found| (known, found))
    }

    pub(crate) fn id(&self, class: &str) -> Option<ClassId> {
        let known = self.ids.get(class);
        let known = known.or_else(|| match class.contains('<') {
            true => self.regular.get(&names::regular(class)),
            false => None,
        });
        known.copied()
    }

    pub(crate) fn class(&self, id: ClassId) -> &Class {
        &self.classes[id.0 as usize]
    }

    /// The class of that name; a new one that nothing is known of where there is none.
    fn intern(&mut self, name: &str) -> ClassId {
        if let Some(id) = self.id(name) {
            return id;
        }
        let id = ClassId(self.classes.len() as u32);
        let name: Arc<str> = name.into();
        let pair = collection::pair_of_numbers(&name)
            .map(|numbers| Arc::new(ClassLayout::of_pair(name.clone(), numbers)));
        self.classes.push(Class { name: name.clone(), special: None, pair, versions: Vec::new() });
        if name.contains('<') {
            self.regular.insert(names::regular(&name), id);
        }
        self.ids.insert(name, id);
        id
    }

    /// Adds one version of a class; the first one of a version and checksum stays.
    fn add(&mut self, info: Arc<StreamerInfo>) {
        let id = self.intern(&info.class);
        let same = |version: &Version| {
            version.info.version == info.version
                && (version.info.checksum == info.checksum || info.checksum == 0)
        };
        if self.classes[id.0 as usize].versions.iter().any(same) {
            return;
        }
        let layout = Arc::new(ClassLayout::compile(&info, |name| self.intern(name)));
        self.classes[id.0 as usize].versions.push(Version { info, layout });
    }
}

impl Class {
    /// The layout of one version; of several with one number the first.
    pub(crate) fn layout(&self, version: i32) -> Option<&Arc<ClassLayout>> {
        let found = self.versions.iter().find(|known| known.info.version == version);
        found.map(|version| &version.layout).or(self.pair.as_ref())
    }

    /// The layouts of all versions.
    pub(crate) fn layouts(&self) -> impl Iterator<Item = &Arc<ClassLayout>> {
        self.versions.iter().map(|version| &version.layout).chain(&self.pair)
    }

    /// The layout of the newest version.
    pub(crate) fn newest(&self) -> Option<&Arc<ClassLayout>> {
        self.newest_version().map(|version| &version.layout).or(self.pair.as_ref())
    }

    /// The highest version of the file's, if it describes one: builtin ones may be newer than the
    /// file, and have members that its objects lack.
    fn newest_version(&self) -> Option<&Version> {
        self.versions.iter().max_by_key(|known| (known.info.checksum != 0, known.info.version))
    }

    /// The layout of the version with that checksum, or a builtin one, which has none.
    pub(crate) fn layout_by_checksum(&self, checksum: u32) -> Option<&Arc<ClassLayout>> {
        self.layout_of(checksum).or_else(|| self.layout_of(0)).or(self.pair.as_ref())
    }

    /// The layout of exactly that checksum.
    pub(crate) fn layout_of(&self, checksum: u32) -> Option<&Arc<ClassLayout>> {
        let found = self.versions.iter().find(|known| known.info.checksum == checksum);
        found.map(|version| &version.layout)
    }

    /// Whether 0 is a version of the class, and does not stand for none.
    pub(crate) fn has_version_zero(&self) -> bool {
        self.versions.iter().any(|known| known.info.version == 0)
    }
}
