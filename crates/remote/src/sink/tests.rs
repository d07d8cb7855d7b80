//! Rules of all sinks, tried on one that fails at a chosen call.

use std::sync::Arc;

use futures::FutureExt;
use mutex::Mutex;

use super::*;

/// Fails at the call of that number, from 0; counts how often it was called and given up.
struct Failing {
    fails_at: usize,
    calls: usize,
    given_up: Arc<Mutex<usize>>,
}

impl Failing {
    fn upload(fails_at: usize) -> (Upload, Arc<Mutex<usize>>) {
        let given_up = Arc::default();
        let sink = Failing { fails_at, calls: 0, given_up: Arc::clone(&given_up) };
        (Upload::new("there".to_owned(), Box::new(sink), 0), given_up)
    }

    fn call(&mut self) -> Result<()> {
        let call = self.calls;
        self.calls += 1;
        match call == self.fails_at {
            true => Err(Error::new(ErrorKind::Io, format!("call {call}"))),
            false => Ok(()),
        }
    }
}

impl Sink for Failing {
    fn write(&mut self, _: u64, _: Bytes, _: bool) -> BoxFuture<'_, Result<()>> {
        let result = self.call();
        async move { result }.boxed()
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<()>> {
        self.write(0, Bytes::new(), false)
    }

    fn finish(mut self: Box<Self>, content: Content) -> BoxFuture<'static, Result<Written>> {
        let result = self.call();
        let size = content.len();
        async move { result.map(|()| Written::new(String::new(), size, None)) }.boxed()
    }

    fn abandon(self: Box<Self>) -> BoxFuture<'static, ()> {
        async move { *self.given_up.lock() += 1 }.boxed()
    }
}

async fn write(upload: &mut Upload) -> Result<()> {
    upload.write(0, Bytes::from_static(&[0; 10]), true).await?;
    upload.write(10, Bytes::from_static(&[1; 10]), false).await?;
    upload.sync().await?;
    upload.write(0, Bytes::from_static(&[2; 10]), false).await
}

#[tokio::test]
async fn the_first_error_is_what_every_later_call_gets() {
    for fails_at in 0..4 {
        let (mut upload, given_up) = Failing::upload(fails_at);
        let first = write(&mut upload).await.unwrap_err();
        assert_eq!(first.to_string(), format!("call {fails_at}; in there"));
        assert_eq!(*given_up.lock(), 1, "at once, for the room on a disk");
        assert_eq!(upload.write(20, Bytes::new(), false).await, Err(first.clone()));
        assert_eq!(upload.sync().await, Err(first.clone()));
        assert_eq!(upload.finish().await, Err(first));
        assert_eq!(*given_up.lock(), 1);
    }
    let (mut upload, _) = Failing::upload(4);
    write(&mut upload).await.unwrap();
    assert!(upload.finish().await.unwrap_err().to_string().contains("call 4"));
    let (mut upload, _) = Failing::upload(5);
    write(&mut upload).await.unwrap();
    assert_eq!(upload.finish().await.unwrap().size, 20);
}

#[tokio::test]
async fn a_write_to_a_wrong_place_ends_the_file() {
    let (mut upload, given_up) = Failing::upload(9);
    upload.write(0, Bytes::from_static(&[0; 10]), false).await.unwrap();
    for offset in [11, 3] {
        let error = upload.write(offset, Bytes::from_static(b"x"), false).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    assert_eq!(*given_up.lock(), 1);
}

#[tokio::test]
async fn a_call_that_is_given_up_gives_up_the_file() {
    /// Takes no bytes.
    struct Stuck;
    impl Sink for Stuck {
        fn write(&mut self, _: u64, _: Bytes, _: bool) -> BoxFuture<'_, Result<()>> {
            futures::future::pending().boxed()
        }
        fn sync(&mut self) -> BoxFuture<'_, Result<()>> {
            futures::future::pending().boxed()
        }
        fn finish(self: Box<Self>, _: Content) -> BoxFuture<'static, Result<Written>> {
            futures::future::pending().boxed()
        }
        fn abandon(self: Box<Self>) -> BoxFuture<'static, ()> {
            futures::future::ready(()).boxed()
        }
    }
    let mut upload = Upload::new("there".to_owned(), Box::new(Stuck), 0);
    assert!(upload.write(0, Bytes::from_static(b"x"), false).now_or_never().is_none());
    assert_eq!(upload.sync().await.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(upload.finish().await.unwrap_err().kind(), ErrorKind::Cancelled);
}
