//! A table of a file that is remembered, read before its server has said that it is the same.

use std::sync::Arc;

use crate::read::core::table::Table;
use crate::read::file::SpeculativeOpen;
use crate::read::file::session::Session;
use crate::read::many::opener::Opener;
use remote::Result;

/// A table that is there before its file is open. What is read of it is asked for together with
/// the open, and counts only when [`PresumedTable::confirm`] has said so.
pub struct PresumedTable {
    /// The table, as it is remembered.
    pub table: Arc<dyn Table>,
    open: SpeculativeOpen,
}

impl PresumedTable {
    /// Begins to open a file and takes it for what is remembered of it; `None` where that is too
    /// little or where it is another file.
    pub(crate) async fn open(
        session: &Session,
        address: &str,
        path: Option<&str>,
    ) -> Result<Option<Self>> {
        let Some(open) = session.open_speculatively(address).await? else { return Ok(None) };
        match session.table_of(&open.file, address, path).await {
            Ok(table) => Ok(Some(PresumedTable { table, open })),
            // An error may be the other file's.
            Err(error) => {
                if open.confirm().await? {
                    Err(error)
                } else {
                    Ok(None)
                }
            }
        }
    }

    /// Waits for the server's answer; whether it is the file that was remembered. If it is not,
    /// what was read of it is another file's, and to be thrown away.
    ///
    /// # Errors
    /// Why the file cannot be opened.
    pub async fn confirm(self) -> Result<bool> {
        self.open.confirm().await
    }
}
