//! Runbooks and feedback in the ledger: versions, expectations, revisions, ratings.

use agent::ports::documents::{
    DocumentSource, DocumentStore, DocumentSummary, Expected, NewDocument, SavedDocument,
};
use agent::ports::{Feedback, FeedbackStore, Rating, StoreError};
use stores::SqlLedger;

use crate::{alice, run, start};

pub fn document(content: &str) -> NewDocument {
    NewDocument {
        document_id: "pool".to_owned(),
        title: "连接池".to_owned(),
        tags: vec!["db".to_owned(), "数据库".to_owned()],
        source: "https://runbooks.example/pool".to_owned(),
        content: content.to_owned(),
        chunks: content.split('\n').map(|text| ("A > B".to_owned(), text.to_owned())).collect(),
    }
}

pub async fn all(ledger: &SqlLedger) {
    let (empty, chunks) = ledger.chunks().await.unwrap();
    assert!(chunks.is_empty());
    assert_eq!(ledger.revision().await.unwrap(), empty);
    assert_eq!(
        ledger.put(&document("one\ntwo 😀"), Expected::Anything, start()).await.unwrap().summary.version,
        1
    );
    let (first, chunks) = ledger.chunks().await.unwrap();
    assert_ne!(first, empty);
    assert_eq!(ledger.revision().await.unwrap(), first);
    let texts: Vec<_> = chunks.iter().map(|c| (c.ordinal, c.version, c.text.as_str())).collect();
    assert_eq!(texts, [(0, 1, "one"), (1, 1, "two 😀")]);
    assert_eq!((chunks[0].title.as_str(), chunks[0].tags.len()), ("连接池", 2));
    assert_eq!(
        (chunks[0].section_path.as_str(), chunks[0].updated_at.as_str()),
        ("A > B", "2027-01-15T08:00:00.123456Z")
    );

    assert_eq!(
        ledger.put(&document("one\ntwo 😀"), Expected::Anything, start()).await.unwrap().summary.version,
        1,
        "nothing new"
    );
    assert_eq!(ledger.revision().await.unwrap(), first);
    let long = (0..250).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    assert_eq!(ledger.put(&document(&long), Expected::Anything, start()).await.unwrap().summary.version, 2);
    let (second, chunks) = ledger.chunks().await.unwrap();
    assert_eq!((chunks.len(), chunks[249].text.as_str(), chunks[0].version), (250, "249", 2));

    assert!(ledger.remove("pool", Expected::Anything, start()).await.unwrap());
    assert!(!ledger.remove("pool", Expected::Anything, start()).await.unwrap());
    assert!(!ledger.remove("unknown", Expected::Anything, start()).await.unwrap());
    let (third, chunks) = ledger.chunks().await.unwrap();
    assert!(chunks.is_empty());
    assert_eq!(
        ledger.put(&document("one"), Expected::Anything, start()).await.unwrap().summary.version,
        3,
        "versions never repeat"
    );
    let fourth = ledger.revision().await.unwrap();
    let revisions = std::collections::HashSet::from([empty, first, second, third, fourth]);
    assert_eq!(revisions.len(), 5);
    assert!(!ledger.put(&document("one"), Expected::Anything, start()).await.unwrap().created);
    expectations(ledger).await;
    let huge = ledger.put(&document(&"x".repeat(2_000_000)), Expected::Anything, start()).await;
    assert!(matches!(huge, Err(StoreError::TooLarge { .. })));
    assert_eq!(ledger.chunks().await.unwrap().1.len(), 1);
}

/// Who writes on a wrong belief writes nothing. The document is at version 3.
async fn expectations(ledger: &SqlLedger) {
    let conflict = |done: Result<SavedDocument, StoreError>| matches!(done, Err(StoreError::Conflict { .. }));
    for wrong in [Expected::Absent, Expected::Version(2), Expected::Version(4)] {
        assert!(conflict(ledger.put(&document("changed"), wrong, start()).await), "{wrong:?}");
    }
    assert!(matches!(
        ledger.remove("pool", Expected::Version(2), start()).await,
        Err(StoreError::Conflict { .. })
    ));
    assert_eq!(
        ledger.put(&document("two 😀"), Expected::Version(3), start()).await.unwrap().summary.version,
        4
    );
    let stored = ledger.get("pool").await.unwrap().unwrap();
    assert_eq!((stored.content.as_str(), stored.summary.version, stored.summary.bytes), ("two 😀", 4, 8));
    let other = NewDocument { document_id: "another".into(), ..document("x") };
    let saved = ledger.put(&other, Expected::Absent, start()).await.unwrap();
    assert!(saved.created);
    assert_eq!(saved.summary, ledger.get("another").await.unwrap().unwrap().summary);
    let ids = |page: Vec<DocumentSummary>| page.into_iter().map(|d| d.document_id).collect::<Vec<_>>();
    assert_eq!(ids(ledger.list(10, None).await.unwrap()), ["another", "pool"]);
    assert_eq!(ids(ledger.list(1, None).await.unwrap()), ["another"]);
    assert_eq!(ids(ledger.list(10, Some("another")).await.unwrap()), ["pool"]);
    assert!(ledger.remove("another", Expected::Version(1), start()).await.unwrap());
    assert!(ledger.get("another").await.unwrap().is_none());
    assert_eq!(ids(ledger.list(10, None).await.unwrap()), ["pool"]);
    let again = ledger.put(&other, Expected::Absent, start()).await.unwrap();
    assert_eq!((again.summary.version, again.created), (2, true), "versions never repeat");
    assert!(ledger.remove("another", Expected::Anything, start()).await.unwrap());

    let run_id = run(1);
    let said = |rating, comment: &str| Feedback { rating, reason: None, comment: Some(comment.into()) };
    assert_eq!(ledger.rating(run_id, &alice()).await.unwrap(), None);
    for feedback in [said(Rating::Up, "好 😀"), said(Rating::Down, "no")] {
        ledger.rate(run_id, &alice(), &feedback, start()).await.unwrap();
        assert_eq!(ledger.rating(run_id, &alice()).await.unwrap(), Some(feedback));
    }
}
