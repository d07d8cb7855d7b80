//! Commands on a cache, for people: list, pin, remove, check.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::content::{PIN, make_folder, numbers, segment_path};
use super::evict::{Held, LimitScope};
use super::format::ContentId;
use super::names::Name;
use super::quota::{CacheQuota, QuotaTotals};
use super::recompressed::recompressed_id;
use super::replica_files::{REPLICA, is_sound};
use super::room::Found;
use super::segment::verify;
use super::space::DiskSpace;
use super::{Cache, place, room};
use crate::address::Address;
use crate::clock::seconds_since_1970;
use crate::error::{Error, ErrorKind, Result};
use crate::report::size;

/// The cached part of the file at one address.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CachedFile {
    /// Without user, password and query.
    pub address: String,
    /// Bytes of the file.
    pub size: u64,
    /// Bytes of it that are cached.
    pub held_bytes: u64,
    /// Ranges of neighbouring bytes that these are.
    pub ranges: u64,
    /// Bytes on the disk. Copies of a file share them.
    pub disk_bytes: u64,
    /// Those of them that are for parts of the file with another codec.
    pub recompressed_disk_bytes: u64,
    /// Bytes on the disk of its replica, which programs read faster; 0 without one.
    pub replica_disk_bytes: u64,
    /// When its server last confirmed that it is the same file, seconds since 1970.
    pub checked: u64,
    /// When it was last read from or added to, seconds since 1970; 0 where nothing is cached.
    pub used: u64,
    /// It is not evicted.
    pub is_pinned: bool,
    /// Other addresses of the same file.
    pub copies: Vec<String>,
}

/// A cache as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CacheTotals {
    /// Where it is; of several disks those in use, with commas.
    pub folder: String,
    /// Addresses that are known.
    pub addresses: u64,
    /// Bytes of segments and indexes.
    pub disk_bytes: u64,
    /// Those of them that are for parts of files with another codec.
    pub recompressed_disk_bytes: u64,
    /// The cap of all disks in use together.
    pub bytes_max: u64,
    /// Bytes that are free on these disks.
    pub free_bytes: u64,
    /// Disks that have fewer free than the cache leaves to others: nothing is added to them.
    pub full_disks: u64,
    /// The folders of the settings, each on a disk, and those of them that are left out.
    pub disks: u64,
    /// Those.
    pub disks_left_out: u64,
    /// Segments, and those of them that are open or pinned.
    pub segments: u64,
    /// Those.
    pub segments_staying: u64,
    /// The quotas, in the order of the settings.
    pub quotas: Vec<QuotaTotals>,
}

/// The result of a check of all records.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Verified {
    /// Records that are as they were written.
    pub records: u64,
    /// Segments with a record that is not; with all behind it, it is not read.
    pub damaged_segments: u64,
    /// Bytes in those that cannot be read.
    pub damaged_bytes: u64,
}

impl Cache {
    /// The cached files, by address.
    pub fn files(&self) -> Vec<CachedFile> {
        let names = self.inner.names.all();
        let mut copies: BTreeMap<_, Vec<&Name>> = BTreeMap::new();
        names.iter().for_each(|name| copies.entry(name.content).or_default().push(name));
        let disk = self.on_disk();
        let file = |name: &Name| {
            let folders = self.both_folders(name);
            let content = self.content(name.content);
            let [original, recompressed] = folders.each_ref().map(|folders| {
                let of = folders.iter().filter_map(|folder| disk.get(folder));
                of.fold((0, 0), |(sum, used), (bytes, last)| (sum + bytes, used.max(*last)))
            });
            let others = copies[&name.content].iter().filter(|other| other.key != name.key);
            CachedFile {
                address: name.address.clone(),
                size: name.info.size,
                held_bytes: content.bytes(),
                ranges: content.ranges().len() as u64,
                disk_bytes: original.0 + recompressed.0,
                recompressed_disk_bytes: recompressed.0,
                replica_disk_bytes: self
                    .replica_folders(name)
                    .iter()
                    .filter_map(|folder| disk.get(folder))
                    .map(|(bytes, _)| bytes)
                    .sum(),
                checked: name.checked,
                used: original.1.max(recompressed.1),
                is_pinned: self.is_pinned(name),
                copies: others.map(|other| other.address.clone()).collect(),
            }
        };
        names.iter().map(file).collect()
    }

    fn is_pinned(&self, name: &Name) -> bool {
        self.is_pinned_content(&name.content)
    }

    pub(super) fn is_pinned_content(&self, content: &ContentId) -> bool {
        self.folders(content).iter().any(|folder| folder.join(PIN).exists())
    }

    /// The folders of a file: of its bytes, and of its parts with another codec.
    fn both_folders(&self, name: &Name) -> [Vec<PathBuf>; 2] {
        [name.content, recompressed_id(&name.content)].map(|id| self.folders(&id))
    }

    /// All segments on the disks in use.
    pub(super) fn segments(&self) -> Vec<Found> {
        self.inner
            .disks
            .in_use()
            .flat_map(|(_, data)| room::segments(data, &self.inner.quotas))
            .collect()
    }

    /// Bytes on the disk, and the last use, by content's folder.
    fn on_disk(&self) -> BTreeMap<PathBuf, (u64, u64)> {
        let mut disk: BTreeMap<_, (u64, u64)> = BTreeMap::new();
        for found in self.segments() {
            if let Some(folder) = found.path.parent() {
                let (bytes, used) = disk.entry(folder.to_owned()).or_default();
                *bytes += found.held.bytes;
                *used = (*used).max(found.held.used);
            }
        }
        disk
    }

    /// The cache as a whole.
    pub fn totals(&self) -> CacheTotals {
        self.inner.disks.check_all();
        let segments = self.segments();
        let data: Vec<&Path> = self.inner.disks.in_use().map(|(_, data)| data).collect();
        let space = |data: &&Path| room::space_of(data, &self.inner.config);
        let spaces: Vec<DiskSpace> = data.iter().map(space).collect();
        let (disks, disks_left_out) = self.inner.disks.counts();
        let shown: Vec<String> = data.iter().map(|data| data.display().to_string()).collect();
        let names = self.inner.names.all();
        let contents: BTreeSet<ContentId> = names.iter().map(|name| name.content).collect();
        let folders: BTreeSet<PathBuf> =
            contents.iter().flat_map(|id| self.folders(&recompressed_id(id))).collect();
        let is_recompressed = |found: &&room::Found| {
            found.path.parent().is_some_and(|folder| folders.contains(folder))
        };
        let bytes = |found: &room::Found| found.held.bytes;
        CacheTotals {
            folder: shown.join(", "),
            addresses: names.len() as u64,
            disk_bytes: segments.iter().map(bytes).sum(),
            recompressed_disk_bytes: segments.iter().filter(is_recompressed).map(bytes).sum(),
            bytes_max: self.inner.config.bytes_max.saturating_mul(data.len() as u64),
            free_bytes: spaces.iter().map(|space| space.free).sum(),
            full_disks: spaces.iter().filter(|space| space.under_floor() > 0).count() as u64,
            disks,
            disks_left_out,
            segments: segments.len() as u64,
            segments_staying: segments.iter().filter(|found| found.held.stays).count() as u64,
            quotas: self.quota_totals(&segments),
        }
    }

    fn quota_totals(&self, segments: &[Found]) -> Vec<QuotaTotals> {
        let quotas = &self.inner.quotas;
        let held: Vec<Held> = segments.iter().map(|found| found.held).collect();
        let refused: Vec<BTreeMap<String, u64>> =
            self.inner.disks.in_use().map(|(_, data)| room::refused(data)).collect();
        let totals = |(at, (quota, hash)): (usize, (&CacheQuota, &String))| QuotaTotals {
            name: quota.name.clone(),
            bytes_max: quota.bytes_max,
            disk_bytes: LimitScope::Quota(at).bytes(&held),
            refused_bytes: refused.iter().filter_map(|refused| refused.get(hash)).sum(),
        };
        (0..).zip(quotas.all().iter().zip(quotas.hashes())).map(totals).collect()
    }

    /// The cached part of one file.
    ///
    /// # Errors
    /// `NotFound` where nothing is known of the address.
    pub fn file(&self, url: &Address) -> Result<CachedFile> {
        let name = self.name(url)?;
        let is_it =
            |file: &CachedFile| file.address == name.address && file.checked == name.checked;
        let found = self.files().into_iter().find(is_it);
        found.ok_or_else(|| unknown(url))
    }

    /// Which bytes of a file are cached, ascending.
    ///
    /// # Errors
    /// `NotFound` where nothing is known of the address.
    pub fn held(&self, url: &Address) -> Result<Vec<Range<u64>>> {
        Ok(self.content(self.name(url)?.content).ranges())
    }

    /// Protects the cached parts of a file and its replica, later ones included, from eviction; or
    /// ends that.
    ///
    /// # Errors
    /// `NotFound` where the cache has no name of the address; `LimitReached` where the pinned parts
    /// would take more than the cache may have; an error of noting it.
    pub fn pin(&self, url: &Address, is_pinned: bool) -> Result<()> {
        let names = self.names(url)?;
        if is_pinned {
            self.check_pins(url, &names)?;
        }
        for name in names {
            let mut replicas = self.replica_folders(&name);
            replicas.retain(|folder| folder.join(REPLICA).exists());
            for folder in self.both_folders(&name).into_iter().flatten().chain(replicas) {
                let pin = folder.join(PIN);
                let done = match is_pinned {
                    true => make_folder(&folder).and_then(|()| fs::write(&pin, b"")),
                    false if pin.exists() => fs::remove_file(&pin),
                    false => Ok(()),
                };
                done.map_err(|error| Error::from_io(&error).with_url(url.to_string()))?;
            }
        }
        Ok(())
    }

    /// Compares the parts of pinned files, and of these, with the cap.
    fn check_pins(&self, url: &Address, names: &[Name]) -> Result<()> {
        let bytes_max = self.totals().bytes_max;
        let disk = self.on_disk();
        let parts = names.iter().flat_map(|name| self.both_folders(name)).flatten();
        let replicas = names.iter().flat_map(|name| self.replica_folders(name));
        let new: BTreeSet<PathBuf> = parts.chain(replicas).collect();
        let stays = |folder: &PathBuf| new.contains(folder) || folder.join(PIN).exists();
        let pinned: u64 =
            disk.iter().filter(|(folder, _)| stays(folder)).map(|(_, (bytes, _))| bytes).sum();
        // Without a cap the cache is only looked at.
        if bytes_max == 0 || pinned <= bytes_max {
            return Ok(());
        }
        let pinned = size(pinned);
        let cap = size(bytes_max);
        let text = format!("with it {pinned} would be pinned, and the cache may have {cap}");
        Err(Error::new(ErrorKind::LimitReached, text)
            .with_url(url.to_string())
            .with_advice("end another pin (`farroot cache unpin`), or let FARROOT_CACHE say more"))
    }

    /// The addresses of the files that were read most, the first one most often: by the uses of
    /// their cached parts, and by reads that did not find them.
    pub fn most_read(&self, count: usize) -> Vec<String> {
        let mut read: BTreeMap<PathBuf, (u32, u64)> = BTreeMap::new();
        for found in self.segments() {
            let Some(folder) = found.path.parent() else { continue };
            let (uses, used) = read.entry(folder.to_owned()).or_default();
            *uses = (*uses).max(found.held.uses);
            *used = (*used).max(found.held.used);
        }
        let missed: BTreeMap<PathBuf, u32> = self
            .inner
            .disks
            .in_use()
            .flat_map(|(_, data)| {
                let of = move |(key, misses)| (data.join(key), misses);
                room::misses(data).into_iter().map(of)
            })
            .collect();
        let of = |name: Name| {
            let folders = self.both_folders(&name);
            let parts = folders.iter().flatten().filter_map(|folder| read.get(folder));
            let (uses, used) =
                parts.fold((0, 0), |(uses, used), (more, last)| (uses.max(*more), used.max(*last)));
            let misses = folders[0].iter().filter_map(|folder| missed.get(folder)).max();
            (uses + misses.copied().unwrap_or_default(), used.max(name.checked), name.address)
        };
        let mut files: Vec<(u32, u64, String)> =
            self.inner.names.all().into_iter().map(of).collect();
        files.sort_by(|one, other| other.cmp(one));
        let mut addresses: Vec<String> = Vec::new();
        for (_, _, address) in files {
            // A file has one name by its own address, and may have another by a redirector's.
            if addresses.len() < count && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        addresses
    }

    /// Removes the cached part of a file; returns how many bytes that frees. A process that reads
    /// it keeps its open segments.
    ///
    /// # Errors
    /// `NotFound` where nothing is known of the address; `InvalidArgument` where it is pinned.
    pub fn evict(&self, url: &Address) -> Result<u64> {
        let names = self.names(url)?;
        if names.iter().any(|name| self.is_pinned(name)) {
            return Err(Error::new(ErrorKind::InvalidArgument, "it is pinned, and stays")
                .with_url(url.to_string())
                .with_advice("end that first: `farroot cache unpin FILE`"));
        }
        let mut freed = 0;
        for name in names {
            let disk = self.on_disk();
            for id in [name.content, recompressed_id(&name.content)] {
                self.content(id).end();
                for folder in self.folders(&id) {
                    freed += disk.get(&folder).map_or(0, |(bytes, _)| *bytes);
                    room::remove(&folder);
                }
            }
            for folder in self.replica_folders(&name) {
                freed += disk.get(&folder).map_or(0, |(bytes, _)| *bytes);
                room::remove(&folder);
            }
            self.inner.names.forget(&name);
        }
        Ok(freed)
    }

    /// Removes segments until no more than so many bytes are cached, the least used first; returns
    /// how many bytes that frees. Segments that are open or pinned stay.
    pub fn evict_to(&self, bytes_max: u64) -> u64 {
        let data: Vec<&Path> = self.inner.disks.in_use().map(|(_, data)| data).collect();
        room::shrink(&data, bytes_max, &self.inner.counting)
    }

    /// Removes segments that have not been used for so many seconds; returns how many bytes that
    /// frees. Those that are open or pinned stay.
    pub fn evict_unused(&self, seconds: u64) -> u64 {
        let before = seconds_since_1970().saturating_sub(seconds);
        let of = |data: &Path| room::remove_unused(data, before, &self.inner.counting);
        self.inner.disks.in_use().map(|(_, data)| of(data)).sum()
    }

    /// Reads all records, and counts those that are as they were written.
    pub fn verify(&self) -> Verified {
        let mut verified = Verified::default();
        let data = self.inner.disks.in_use();
        for folder in data.flat_map(|(_, data)| place::content_folders(data)) {
            for number in numbers(&folder) {
                match verify(&segment_path(&folder, number)) {
                    Ok((records, damaged)) => {
                        verified.records += records;
                        verified.damaged_bytes += damaged;
                        verified.damaged_segments += u64::from(damaged > 0);
                    }
                    Err(_) => verified.damaged_segments += 1,
                }
            }
            match is_sound(&folder) {
                Some(true) => verified.records += 1,
                Some(false) => verified.damaged_segments += 1,
                None => {}
            }
        }
        verified
    }

    /// Why a read of a file now would be served from the cache or not, in sentences.
    pub fn explain(&self, url: &Address) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.keeps(std::slice::from_ref(url)) {
            let local = self.inner.config.local.name();
            lines.push(format!(
                "it is a file of this machine, of which nothing is cached: cache_local is {local}"
            ));
            return lines;
        }
        let config = &self.inner.config;
        let mode = config.mode.name();
        let check = config.check.shown();
        lines.push(format!("the mode is {mode}, the check {check}"));
        let Ok(name) = self.name(url) else {
            lines.push("nothing is known of this address: all of it is fetched, and kept".into());
            return lines;
        };
        let entry = self.entry(name.content, name.info, name.checked);
        let age = seconds_since_1970().saturating_sub(entry.checked);
        if url.is_local() {
            lines.push("it is a file of this machine, which is looked at in each open".to_owned());
        }
        lines.push(match self.believes(&entry) {
            true => format!("its server was asked {age} s ago: it is not asked again"),
            false => format!("its server was asked {age} s ago, and is asked in the next open"),
        });
        let held = entry.content.bytes();
        let size = entry.info.size;
        let ranges = entry.content.ranges().len();
        lines.push(format!("{held} of its {size} bytes are held, in {ranges} ranges"));
        let parts = entry.recompressed.ranges().len();
        if parts > 0 {
            lines.push(format!("{parts} baskets or pages are held with another codec"));
        }
        if held == 0 && parts == 0 {
            lines
                .push("what was held has been evicted, or was refused while all was in use".into());
        }
        lines
    }

    /// All that is known of an address, by itself and among others.
    fn names(&self, url: &Address) -> Result<Vec<Name>> {
        let mut names = self.inner.names.all();
        names.retain(|name| name.is_of(url));
        if names.is_empty() { Err(unknown(url)) } else { Ok(names) }
    }

    /// The latest name of an address.
    fn name(&self, url: &Address) -> Result<Name> {
        let names = self.names(url)?;
        names.into_iter().max_by_key(|name| name.checked).ok_or_else(|| unknown(url))
    }
}

fn unknown(url: &Address) -> Error {
    Error::new(ErrorKind::NotFound, "nothing of it is in the cache")
        .with_url(url.to_string())
        .with_advice("`farroot cache ls` lists what is")
}
