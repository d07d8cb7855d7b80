//! Files of this machine's file systems that a cache keeps: those that are slower than its disk.

use std::path::Path;

/// File systems that other machines share, by the number that `statfs` gives (linux/magic.h, and
/// the sources of those that are not part of Linux). Those of a program, such as EOS and CVMFS, are
/// all FUSE.
const NETWORKED: [(u32, &str); 17] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x00C3_6400, "Ceph"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9P"),
    (0x1983_0326, "BeeGFS"),
    (0xAAD7_AAEA, "PanFS"),
    (0x2003_0528, "OrangeFS"),
    (0x7375_7245, "Coda"),
    (0x1803_1977, "WekaFS"),
    (0xBEEF_DEAD, "StorNext"),
];

/// Answers with the number of the file system that a path is on.
pub type FileSystemOf = fn(&Path) -> Option<u32>;

/// The name of a file system that is no disk of this machine.
pub fn network_name(number: u32) -> Option<&'static str> {
    NETWORKED.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// The name of the file system of a path, if it is no disk of this machine.
pub fn networked(path: &Path) -> Option<&'static str> {
    file_system(path).and_then(network_name)
}

/// The number that `statfs` gives for the file system of a path.
#[cfg(target_os = "linux")]
pub fn file_system(path: &Path) -> Option<u32> {
    // Sign-extended on some machines.
    Some(rustix::fs::statfs(path).ok()?.f_type as u32)
}

#[cfg(not(target_os = "linux"))]
pub fn file_system(_: &Path) -> Option<u32> {
    None
}

/// Which files of this machine's file systems are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheLocal {
    /// None.
    Off,
    /// Those on a file system that other machines share.
    Network,
    /// All.
    All,
}

impl CacheLocal {
    const ALL: [CacheLocal; 3] = [CacheLocal::Off, CacheLocal::Network, CacheLocal::All];

    /// `off`, `network` or `all`.
    pub fn named(text: &str) -> Option<Self> {
        CacheLocal::ALL.into_iter().find(|local| local.name() == text)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            CacheLocal::Off => "off",
            CacheLocal::Network => "network",
            CacheLocal::All => "all",
        }
    }

    /// Whether the file at a path is cached.
    pub fn keeps(self, path: &Path, file_system: FileSystemOf) -> bool {
        match self {
            CacheLocal::Off => false,
            CacheLocal::Network => file_system(path).and_then(network_name).is_some(),
            CacheLocal::All => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_are_told_apart_by_their_numbers() {
        for (number, name) in [
            (0x6969, Some("NFS")),
            (0x0BD0_0BD0, Some("Lustre")),
            (0x4750_4653, Some("GPFS")),
            (0x00C3_6400, Some("Ceph")),
            (0x6573_5546, Some("FUSE")),
            (0xFF53_4D42, Some("CIFS")),
            (0x1983_0326, Some("BeeGFS")),
            // ext4, XFS, Btrfs, tmpfs, overlayfs, ZFS.
            (0xEF53, None),
            (0x5846_5342, None),
            (0x9123_683E, None),
            (0x0102_1994, None),
            (0x794C_7630, None),
            (0x2FC1_2FC1, None),
            (0, None),
        ] {
            assert_eq!(network_name(number), name, "{number:#x}");
        }
        let names: Vec<_> = NETWORKED.iter().map(|(number, _)| number).collect();
        assert!(names.iter().all(|one| names.iter().filter(|other| *other == one).count() == 1));
    }

    #[test]
    fn a_file_is_cached_as_the_setting_and_its_file_system_say() {
        let lustre: FileSystemOf = |_| Some(0x0BD0_0BD0);
        let disk: FileSystemOf = |_| Some(0xEF53);
        let unknown: FileSystemOf = |_| None;
        let path = Path::new("/f");
        let kept = |local: CacheLocal| [lustre, disk, unknown].map(|of| local.keeps(path, of));
        assert_eq!(kept(CacheLocal::Off), [false, false, false]);
        assert_eq!(kept(CacheLocal::Network), [true, false, false]);
        assert_eq!(kept(CacheLocal::All), [true, true, true]);
        for local in CacheLocal::ALL {
            assert_eq!(CacheLocal::named(local.name()), Some(local));
        }
        assert_eq!(CacheLocal::named("nfs"), None);
    }
}
