//! The opener that tables of many files share, whatever their kinds.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::read::core::cut::Cut;
use crate::read::core::expressions::Expressions;
use crate::read::core::friends::Friend;
use crate::read::core::spec::ColumnSpec;
use crate::read::core::table::{Columns, Table};
use crate::read::file::{File, Speculation};
use remote::Result;

/// Opens tables of any kind and resolves names in them: the work of the floor `open` for its users,
/// for the floors below it.
pub(crate) trait Opener {
    /// The table at a path of a file; without a path, the only one there is.
    fn open_table<'a>(
        &'a self,
        address: &'a str,
        path: Option<&'a str>,
        speculation: Speculation,
    ) -> BoxFuture<'a, Result<Arc<dyn Table>>>;

    /// As [`Opener::open_table`], of a file that is open.
    fn table_of<'a>(
        &'a self,
        file: &'a File,
        address: &'a str,
        path: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Arc<dyn Table>>>;

    /// As [`Engine::select_for`](crate::Engine::select_for).
    fn select<'a>(
        &'a self,
        table: &'a Arc<dyn Table>,
        friends: &'a [Friend],
        wanted: &'a ColumnSpec,
        cut: Option<&'a Cut>,
    ) -> BoxFuture<'a, Result<Box<dyn Columns>>>;

    /// As [`Engine::select_expressions`](crate::Engine::select_expressions).
    fn expressions<'a>(
        &'a self,
        table: &'a Arc<dyn Table>,
        friends: &'a [Friend],
        wanted: &'a ColumnSpec,
        cut: Option<&'a Cut>,
    ) -> BoxFuture<'a, Result<Expressions>>;
}
