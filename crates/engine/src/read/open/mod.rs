//! Tables, objects and columns found by their names; names all kinds of tables.

pub(crate) mod aliases;
pub(crate) mod expressions;
pub(crate) mod friends;
pub mod meaning;
pub mod objects;
pub mod presumed;
pub mod resolve;
pub(crate) mod table;

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};

use crate::read::core::cut::Cut;
use crate::read::core::expressions::Expressions;
use crate::read::core::friends::Friend;
use crate::read::core::select::only;
use crate::read::core::spec::ColumnSpec;
use crate::read::core::table::{Columns, Table};
use crate::read::file::session::Session;
use crate::read::file::{File, Speculation};
use crate::read::many::opener::Opener;
use remote::Result;

impl Opener for Session {
    fn open_table<'a>(
        &'a self,
        address: &'a str,
        path: Option<&'a str>,
        speculation: Speculation,
    ) -> BoxFuture<'a, Result<Arc<dyn Table>>> {
        async move {
            let file = self.open(address, speculation).await?;
            self.table_of(&file, address, path).await
        }
        .boxed()
    }

    fn table_of<'a>(
        &'a self,
        file: &'a File,
        address: &'a str,
        path: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Arc<dyn Table>>> {
        async move {
            match path {
                Some(path) => table::table_in(self, file, path).await,
                None => {
                    let paths = file.table_paths().await?;
                    table::table_in(self, file, only(&paths, address)?).await
                }
            }
        }
        .boxed()
    }

    fn select<'a>(
        &'a self,
        table: &'a Arc<dyn Table>,
        friends: &'a [Friend],
        wanted: &'a ColumnSpec,
        cut: Option<&'a Cut>,
    ) -> BoxFuture<'a, Result<Box<dyn Columns>>> {
        resolve::select(self, table, friends, wanted, cut).boxed()
    }

    fn expressions<'a>(
        &'a self,
        table: &'a Arc<dyn Table>,
        friends: &'a [Friend],
        wanted: &'a ColumnSpec,
        cut: Option<&'a Cut>,
    ) -> BoxFuture<'a, Result<Expressions>> {
        let scope = meaning::NameScope::beside(table, friends);
        Expressions::of(self, scope, wanted, cut).boxed()
    }
}
