//! The schema digest: what the description tells of allow-listed tables, and only of those.

use agent::ports::EvidenceTool;

use super::shop::{Shop, tool_at};

#[tokio::test(flavor = "multi_thread")]
async fn columns_types_comments_and_indexes_of_listed_tables_are_told_once() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    shop.add_table(
        "invoices",
        "CREATE TABLE invoices (id BIGINT UNSIGNED PRIMARY KEY COMMENT '单号', status ENUM('OPEN','PAID') NOT NULL DEFAULT 'OPEN', \
         note TEXT NULL COMMENT 'ask ops@example.org', KEY by_status (status, id)) COMMENT 'one row an invoice'",
    )
    .await?;
    let tool = shop.tool_with(&["orders", "invoices"], 50);
    let before = tool.description();
    assert!(!before.contains("schema:"));
    tool.prepare().await;
    let told = tool.description();
    let invoices = "schema: invoices \"one row an invoice\": id bigint(20) unsigned \"单号\"; status enum('OPEN','PAID'); \
                    note text null \"ask [email:1]\"; indexes (status, id) unique (id)";
    assert!(told.starts_with(&before) && told.contains(invoices), "{told}");
    assert!(told.contains("schema: orders") && !told.contains("schema: payments"), "{told}");
    shop.as_root("ALTER TABLE orders ADD COLUMN later INT").await?;
    tool.prepare().await;
    assert_eq!(tool.description(), told, "it stays as it was told first");
    Ok(())
}

/// A server that can't be asked leaves the description as configured.
#[tokio::test]
async fn a_server_that_is_away_takes_nothing_away() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let tool = tool_at(port, "obviously-fake", &["orders"], 10);
    let before = tool.description();
    tool.prepare().await;
    assert_eq!(tool.description(), before);
}
