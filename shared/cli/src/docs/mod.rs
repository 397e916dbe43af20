//! `docs`: runbooks from a terminal.

mod files;
mod push;

use reqwest::Method;
use serde_json::{Value, json};

use crate::args::{Docs, Search};
use crate::client::Api;
use crate::exit::{Exit, Fault};
use crate::fields::{joined, list, number, short_time, some_text, text};
use crate::page::Page;
use crate::plain::{one_line, plain, strip};
use crate::screen::Screen;

pub async fn run(api: &Api, docs: &Docs, screen: Screen) -> Result<Exit, Fault> {
    match docs {
        Docs::List => show(api, screen).await,
        Docs::Push(wanted) => push::run(api, wanted, screen).await,
        Docs::Get(document) => get(api, &document.id, screen).await,
        Docs::Rm(document) => {
            api.send(Method::DELETE, at(api, &document.id), None).await?;
            if screen.json {
                screen.document(&json!({ "removed": document.id }))?;
            } else {
                screen.print(&format!("removed {}\n", one_line(&document.id)))?;
            }
            Ok(Exit::Success)
        }
        Docs::Search(wanted) => search(api, wanted, screen).await,
    }
}

fn at(api: &Api, id: &str) -> reqwest::Url {
    api.at(&["api", "documents", id])
}

/// All runbooks, without their texts.
async fn all(api: &Api) -> Result<Vec<Value>, Fault> {
    let mut documents: Vec<Value> = Vec::new();
    let mut cursor = None::<String>;
    loop {
        let mut url = api.at(&["api", "documents"]);
        url.query_pairs_mut().append_pair("limit", "100");
        if let Some(cursor) = &cursor {
            url.query_pairs_mut().append_pair("cursor", cursor);
        }
        let page = api.get(url).await?;
        documents.extend_from_slice(list(&page, "documents"));
        let next = some_text(&page, "next_cursor").map(str::to_owned);
        // The cursor only ever moves on; one that does not would keep us here for good.
        if next.is_none() || next == cursor || list(&page, "documents").is_empty() {
            return Ok(documents);
        }
        cursor = next;
    }
}

async fn show(api: &Api, screen: Screen) -> Result<Exit, Fault> {
    let documents = all(api).await?;
    if screen.json {
        screen.document(&json!({ "documents": documents }))?;
        return Ok(Exit::Success);
    }
    let mut page = screen.page();
    let row = |document: &Value| {
        vec![
            text(document, "id").to_owned(),
            number(document, "version").to_string(),
            format!("{} B", number(document, "bytes")),
            short_time(text(document, "updated_at")),
            text(document, "title").to_owned(),
            joined(document, "tags"),
        ]
    };
    page.table(
        &["id", ">version", ">size", "updated", "title", "tags"],
        &documents.iter().map(row).collect::<Vec<_>>(),
    );
    screen.show(page)?;
    Ok(Exit::Success)
}

async fn get(api: &Api, id: &str, screen: Screen) -> Result<Exit, Fault> {
    let document = api.get(at(api, id)).await?;
    if screen.json {
        screen.document(&document)?;
    } else if screen.out_is_terminal {
        screen.print(&format!("{}\n", plain(text(&document, "text")).trim_end()))?;
    } else {
        // Into a file it goes as it is, so that it can be pushed again; of controls only tabs and line breaks.
        screen.print(&strip(text(&document, "text")))?;
    }
    Ok(Exit::Success)
}

async fn search(api: &Api, wanted: &Search, screen: Screen) -> Result<Exit, Fault> {
    let mut url = api.at(&["api", "search"]);
    url.query_pairs_mut()
        .append_pair("q", &wanted.query.join(" "))
        .append_pair("top_k", &wanted.top_k.to_string());
    let found = api.get(url).await?;
    if screen.json {
        screen.document(&found)?;
        return Ok(Exit::Success);
    }
    let mut page = screen.page();
    hits(&mut page, &found);
    screen.show(page)?;
    Ok(Exit::Success)
}

fn hits(page: &mut Page, found: &Value) {
    for (i, hit) in list(found, "hits").iter().enumerate() {
        page.gap();
        let (id, version) = (text(hit, "document_id"), number(hit, "version"));
        let score = hit.get("score").and_then(Value::as_f64).unwrap_or(0.0);
        let section =
            some_text(hit, "section_path").map(|section| format!(" > {section}")).unwrap_or_default();
        page.item(&format!("{}. ", i + 1), &format!("{}{section}", text(hit, "title")));
        page.aside("   ", &format!("{id}, version {version}, score {score:.2} {}", text(hit, "source")));
        page.item("   | ", text(hit, "excerpt"));
    }
    if list(found, "hits").is_empty() {
        page.item("", "No runbook matched.");
    }
    let duplicates = number(found, "duplicates");
    if duplicates > 0 {
        page.gap();
        page.aside("", &format!("{duplicates} left out that say the same as a better one"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Paint;

    #[test]
    fn passages_with_their_places() {
        let found = json!({ "hits": [
            { "document_id": "pay", "title": "支付手册", "version": 3, "section_path": "超时 > 渠道", "source": "https://wiki/pay", "score": 7.256, "excerpt": "先看渠道状态。\n再联系值班。" } ], "duplicates": 1 });
        let mut page = Page::new(60, Paint(false));
        hits(&mut page, &found);
        assert_eq!(
            page.into_text(),
            "\
1. 支付手册 > 超时 > 渠道
   pay, version 3, score 7.26 https://wiki/pay
   | 先看渠道状态。
     再联系值班。

1 left out that say the same as a better one
"
        );
        let mut page = Page::new(60, Paint(false));
        hits(&mut page, &json!({ "hits": [] }));
        assert_eq!(page.into_text(), "No runbook matched.\n");
    }
}
