//! Any order of a writer's steps and those of another program in the same folder, against a model
//! of the folder.
//!
//! The other program may do all that a folder allows in which it may write: remove, replace or link
//! the target and the writer's temporary file. Whatever it does, a file outside the folder stays as
//! it is. After a writer has reported success, its bytes are under the target's name. After it has
//! failed, given up or died, the name has the last file, link or pipe of the other program.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use proptest::prelude::*;
use tempfile::TempDir;

use super::{create, tests};
use crate::sink::{CreateOptions, Upload};

const OURS: &[u8] = b"ours";

#[derive(Debug, Clone, Copy)]
enum WriterStep {
    Begin {
        overwrite: bool,
    },
    Finish,
    Abandon,
    /// The process ends: nothing of the writer runs any more, its lock is gone.
    Crash,
    Other(SharedName, OthersAct),
}

#[derive(Debug, Clone, Copy)]
enum SharedName {
    Target,
    Part,
}

/// The other program's act on a name.
#[derive(Debug, Clone, Copy)]
enum OthersAct {
    Remove,
    Replace,
    Link,
    Pipe,
}

fn steps() -> impl Strategy<Value = Vec<WriterStep>> {
    let name = prop_oneof![Just(SharedName::Target), Just(SharedName::Part)];
    let act = prop_oneof![
        Just(OthersAct::Remove),
        Just(OthersAct::Replace),
        Just(OthersAct::Link),
        Just(OthersAct::Pipe)
    ];
    let step = prop_oneof![
        3 => any::<bool>().prop_map(|overwrite| WriterStep::Begin { overwrite }),
        2 => Just(WriterStep::Finish),
        1 => Just(WriterStep::Abandon),
        1 => Just(WriterStep::Crash),
        3 => (name, act).prop_map(|(name, act)| WriterStep::Other(name, act)),
    ];
    prop::collection::vec(step, 1..12)
}

/// A thing under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NamedThing {
    Nothing,
    File(Vec<u8>),
    Link(PathBuf),
    Other,
}

fn thing(path: &Path) -> NamedThing {
    match fs::symlink_metadata(path) {
        Err(_) => NamedThing::Nothing,
        Ok(there) if there.is_symlink() => NamedThing::Link(fs::read_link(path).unwrap()),
        Ok(there) if there.is_file() => NamedThing::File(fs::read(path).unwrap()),
        Ok(_) => NamedThing::Other,
    }
}

struct ModelFolders {
    shared: TempDir,
    private: TempDir,
    upload: Option<Upload>,
    /// The writer has followed a link under the target's name.
    has_followed: bool,
    /// The target, as the last one who may has left it.
    target: NamedThing,
}

impl ModelFolders {
    fn new() -> ModelFolders {
        let [shared, private] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        fs::write(private.path().join("victim"), "precious").unwrap();
        ModelFolders {
            shared,
            private,
            upload: None,
            has_followed: false,
            target: NamedThing::Nothing,
        }
    }

    fn target(&self) -> PathBuf {
        self.shared.path().join("f.root")
    }

    fn victim(&self) -> PathBuf {
        self.private.path().join("victim")
    }

    fn parts(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.shared.path()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| *path != self.target()).collect()
    }

    async fn step(&mut self, step: WriterStep) {
        match step {
            WriterStep::Begin { overwrite } if self.upload.is_none() => {
                let options = CreateOptions { overwrite, ..CreateOptions::default() };
                if let Ok(sink) = create(self.target(), options).await {
                    self.has_followed = matches!(self.target, NamedThing::Link(_));
                    let mut upload = tests::upload(sink, 0);
                    upload.write(0, Bytes::from_static(OURS), false).await.unwrap();
                    upload.sync().await.unwrap();
                    self.upload = Some(upload);
                }
            }
            WriterStep::Finish => {
                let Some(upload) = self.upload.take() else { return };
                if upload.finish().await.is_err() {
                    return;
                }
                // A link is followed, as `cp` does: this user may write there.
                match self.has_followed {
                    true => {
                        assert_eq!(fs::read(self.victim()).unwrap(), OURS);
                        fs::write(self.victim(), "precious").unwrap();
                    }
                    false => self.target = NamedThing::File(OURS.to_vec()),
                }
            }
            WriterStep::Abandon => {
                if let Some(upload) = self.upload.take() {
                    upload.abandon().await;
                }
            }
            WriterStep::Crash => {
                let parts: Vec<_> = self.parts().into_iter().map(|p| (thing(&p), p)).collect();
                drop(self.upload.take());
                // Dropping has removed the part, which a process that is killed cannot.
                for (there, path) in parts {
                    if let NamedThing::File(bytes) = there {
                        fs::write(path, bytes).unwrap();
                    }
                }
            }
            WriterStep::Begin { .. } => {}
            WriterStep::Other(name, act) => self.other(name, act),
        }
    }

    fn other(&mut self, name: SharedName, act: OthersAct) {
        let path = match name {
            SharedName::Target => self.target(),
            SharedName::Part => match self.parts().pop() {
                Some(part) => part,
                None => return,
            },
        };
        let _ = fs::remove_file(&path);
        match act {
            OthersAct::Remove => {}
            OthersAct::Replace => fs::write(&path, "theirs").unwrap(),
            OthersAct::Link => symlink(self.victim(), &path).unwrap(),
            OthersAct::Pipe => {
                let kind = rustix::fs::FileType::Fifo;
                rustix::fs::mknodat(rustix::fs::CWD, &path, kind, 0o600.into(), 0).unwrap();
            }
        }
        if let SharedName::Target = name {
            self.target = thing(&path);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_another_program_does_nobody_loses_a_byte(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut folders = ModelFolders::new();
            for step in steps {
                folders.step(step).await;
                assert_eq!(thing(&folders.target()), folders.target, "after {step:?}");
                let victim = fs::read(folders.victim()).unwrap();
                assert_eq!(victim, b"precious", "after {step:?}");
            }
        });
    }
}
