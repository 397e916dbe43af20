//! Incident scenarios from `tests/scenarios`, and their placing in a folder as if they happened just now.

mod database;
mod shift;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

pub use shift::Shift;

/// One scenario as its folder describes it.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The folder's name.
    pub name: String,
    pub folder: PathBuf,
    pub title: String,
    pub language: Language,
    /// The moment at which the questions are asked.
    pub clock: OffsetDateTime,
    pub questions: Vec<Question>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    Zh,
    En,
}

/// A question and what a correct answer shows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    pub query: String,
    pub route: Route,
    pub outcome: Outcome,
    pub conclusion: Conclusion,
    pub required_evidence: Vec<RequiredEvidence>,
    /// What a correct report doesn't claim.
    pub forbidden: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Route {
    Diagnosis,
    KnowledgeQuery,
    SystemChat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Outcome {
    Success,
    Fallback,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Conclusion {
    Present,
    Null,
}

/// Each string occurs somewhere in the verified evidence of the tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequiredEvidence {
    pub tool: String,
    pub contains: Vec<String>,
}

/// A scenario that lies in a folder of its own, moved in time.
#[derive(Debug, Clone)]
pub struct Materialised {
    /// With shifted clock and questions; its `folder` still is the source.
    pub scenario: Scenario,
    pub shift: Shift,
    pub dir: PathBuf,
    /// The product's `DATA_SOURCES` file.
    pub data_sources: PathBuf,
    pub logs: PathBuf,
    pub runbooks: PathBuf,
    pub database: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    language: Language,
    clock: String,
    question: Vec<Question>,
}

/// The repository's `tests/scenarios`.
pub fn scenarios_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenarios")
}

/// The names of all scenarios, sorted.
///
/// # Errors
/// When the folder can't be read.
pub fn names() -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(scenarios_dir()).context("tests/scenarios")? {
        let entry = entry?;
        if entry.path().join("scenario.toml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

impl Scenario {
    /// # Errors
    /// When there is no such scenario or its file is malformed.
    pub fn load(name: &str) -> anyhow::Result<Self> {
        Self::load_from(&scenarios_dir().join(name))
    }

    /// # Errors
    /// When the folder has no well-formed `scenario.toml`.
    pub fn load_from(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join("scenario.toml");
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let file = toml::from_str::<File>(&text).with_context(|| path.display().to_string())?;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let clock = OffsetDateTime::parse(&file.clock, &Rfc3339).with_context(|| format!("{name}: clock"))?;
        ensure!(!file.question.is_empty(), "{name} asks nothing");
        Ok(Self {
            name,
            folder: folder.to_owned(),
            title: file.title,
            language: file.language,
            clock,
            questions: file.question,
        })
    }

    /// Writes logs, runbooks, `business.db` and `data_sources.toml` into `dir`, which may not have them yet.
    /// All times of logs and rows are moved by the whole minutes between the scenario's clock and `now`;
    /// times in runbooks are rules, not events, and stay.
    ///
    /// # Errors
    /// When a file can't be read or written, or the SQL fails.
    pub async fn materialise(&self, dir: &Path, now: OffsetDateTime) -> anyhow::Result<Materialised> {
        let shift = Shift::between(self.clock, now);
        let place = Materialised {
            scenario: self.shifted(shift),
            shift,
            dir: dir.to_owned(),
            data_sources: dir.join("data_sources.toml"),
            logs: dir.join("logs"),
            runbooks: dir.join("runbooks"),
            database: dir.join("business.db"),
        };
        ensure!(!place.database.exists(), "{} already exists", place.database.display());
        std::fs::create_dir_all(dir)?;
        std::fs::copy(self.folder.join("data_sources.toml"), &place.data_sources)
            .context("data_sources.toml")?;
        copy_texts(&self.folder.join("logs"), &place.logs, |text| shift.timestamps(text))?;
        copy_texts(&self.folder.join("runbooks"), &place.runbooks, str::to_owned)?;
        let sql = std::fs::read_to_string(self.folder.join("business.sql")).context("business.sql")?;
        database::create(&place.database, shift.timestamps(&sql)).await?;
        Ok(place)
    }

    fn shifted(&self, shift: Shift) -> Self {
        let all = |texts: &[String]| texts.iter().map(|text| shift.all_times(text)).collect::<Vec<_>>();
        let questions = self.questions.iter().map(|question| Question {
            query: shift.all_times(&question.query),
            required_evidence: question
                .required_evidence
                .iter()
                .map(|required| RequiredEvidence { contains: all(&required.contains), ..required.clone() })
                .collect(),
            forbidden: all(&question.forbidden),
            ..question.clone()
        });
        Self {
            clock: self.clock + Duration::minutes(shift.minutes()),
            questions: questions.collect(),
            ..self.clone()
        }
    }
}

fn copy_texts(from: &Path, to: &Path, change: impl Fn(&str) -> String) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let text =
            std::fs::read_to_string(entry.path()).with_context(|| entry.path().display().to_string())?;
        std::fs::write(to.join(entry.file_name()), change(&text))?;
    }
    Ok(())
}
