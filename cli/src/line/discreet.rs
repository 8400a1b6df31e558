//! A history that does not remember what nobody is to see: statements that hold credentials.

use reedline::{
    FileBackedHistory, History, HistoryItem, HistoryItemId, HistorySessionId, Result, SearchQuery,
};

/// Words of statements that are not remembered.
const SECRET: [&str; 4] = ["secret", "s3_session_token", "http_proxy_password", "bearer_token"];

/// A history in a file.
pub(super) struct DiscreetHistory(pub FileBackedHistory);

/// Whether a statement may hold credentials.
fn is_secret(statement: &str) -> bool {
    let lower = statement.to_lowercase();
    let says = ["create", "set", "pragma"].iter().any(|word| lower.contains(word));
    says && SECRET.iter().any(|word| lower.contains(word))
}

impl History for DiscreetHistory {
    fn save(&mut self, item: HistoryItem) -> Result<HistoryItem> {
        if is_secret(&item.command_line) {
            return Ok(item);
        }
        self.0.save(item)
    }

    fn load(&self, id: HistoryItemId) -> Result<HistoryItem> {
        self.0.load(id)
    }

    fn count(&self, query: SearchQuery) -> Result<i64> {
        self.0.count(query)
    }

    fn search(&self, query: SearchQuery) -> Result<Vec<HistoryItem>> {
        self.0.search(query)
    }

    fn update(&mut self, id: HistoryItemId, updater: &dyn Fn(HistoryItem) -> HistoryItem) -> Result<()> {
        self.0.update(id, updater)
    }

    fn clear(&mut self) -> Result<()> {
        self.0.clear()
    }

    fn delete(&mut self, id: HistoryItemId) -> Result<()> {
        self.0.delete(id)
    }

    fn sync(&mut self) -> std::io::Result<()> {
        self.0.sync()
    }

    fn session(&self) -> Option<HistorySessionId> {
        self.0.session()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_remembered() {
        let mut history = DiscreetHistory(FileBackedHistory::default());
        for statement in [
            "SELECT 1;",
            "create secret (TYPE s3, KEY_ID 'a', SECRET 'hush');",
            "SET s3_secret_access_key = 'hush';",
            "FROM duckdb_secrets();",
            "SET http_proxy_password = 'hush';",
        ] {
            history.save(HistoryItem::from_command_line(statement)).unwrap();
        }
        assert_eq!(history.count_all().unwrap(), 2);
    }
}
