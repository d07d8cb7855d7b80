//! A table opened from stored metadata, before the server has confirmed that the file is the same.

use std::sync::Arc;

use crate::read::core::table::Table;
use crate::read::file::SpeculativeOpen;
use crate::read::file::session::Session;
use crate::read::many::opener::Opener;
use remote::Result;

/// A table that can be read before the server has answered the open of its file. The data are valid
/// only if [`PresumedTable::confirm`] returns `true`.
pub struct PresumedTable {
    /// The table, as the stored metadata describe it.
    pub table: Arc<dyn Table>,
    open: SpeculativeOpen,
}

impl PresumedTable {
    /// Begins to open a file, and returns its table by the stored metadata; `None` where these are
    /// too little, or where the server has another file.
    pub(crate) async fn open(
        session: &Session,
        address: &str,
        path: Option<&str>,
    ) -> Result<Option<Self>> {
        let Some(open) = session.open_speculatively(address).await? else { return Ok(None) };
        match session.table_of(&open.file, address, path).await {
            Ok(table) => Ok(Some(PresumedTable { table, open })),
            // The error may come from metadata of another file.
            Err(error) => {
                if open.confirm().await? {
                    Err(error)
                } else {
                    Ok(None)
                }
            }
        }
    }

    /// Waits for the server's answer; returns whether the file is that of the stored metadata. If
    /// not, the caller must discard all that was read of the table.
    ///
    /// # Errors
    /// Why the file cannot be opened.
    pub async fn confirm(self) -> Result<bool> {
        self.open.confirm().await
    }
}
