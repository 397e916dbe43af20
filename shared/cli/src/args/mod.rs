//! The commands and their options, exactly as a person types them.

mod docs;
mod keys;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

pub use docs::{Docs, Push, Search};
pub use keys::{CreateKey, Keys};

const AFTER: &str = "\
Environment:
  SUPERBIZ_URL      where the service answers, unless --url says so
  SUPERBIZ_API_KEY  the API key, unless --key-file names a file that holds it

Exit codes:
  0  done; of `ask`: SUCCESS       3  `ask`: FALLBACK, no verified answer
  1  `ask`: the run FAILED         4  the service refused the request
  2  wrong usage                   5  no readable answer from the service
  130  interrupted; the run was asked to stop";

/// Incident diagnosis whose every claim was checked, from a terminal.
#[derive(Debug, Parser)]
#[command(name = "superbiz", version, after_help = AFTER)]
pub struct Cli {
    /// Where the service answers [default: http://127.0.0.1:9000]
    #[arg(long, global = true, value_name = "URL", env = "SUPERBIZ_URL", hide_env = true)]
    pub url: Option<String>,
    /// File that holds the API key (there is no option for the key itself: others could read it in the process list)
    #[arg(long, global = true, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Print no colours
    #[arg(long, global = true, env = "NO_COLOR", hide_env = true, value_parser = FalseyValueParser::new())]
    pub no_color: bool,
    #[command(flatten)]
    pub surroundings: Surroundings,
    #[command(subcommand)]
    pub command: Command,
}

/// What only the environment tells; clap reads it, so that nothing else does.
#[derive(Debug, Clone, Args)]
pub struct Surroundings {
    #[arg(long, global = true, hide = true, env = "SUPERBIZ_API_KEY", hide_env_values = true)]
    pub api_key: Option<String>,
    #[arg(long, global = true, hide = true, env = "COLUMNS")]
    pub columns: Option<String>,
    #[arg(long, global = true, hide = true, env = "TERM")]
    pub term: Option<String>,
}

impl Cli {
    /// The arguments of a process, its name first, with what the environment adds.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let matches = Self::command().try_get_matches_from(arguments)?;
        if matches.value_source("api_key") == Some(ValueSource::CommandLine) {
            let told =
                "others could read the key in the process list: set SUPERBIZ_API_KEY, or use --key-file";
            return Err(Self::command().error(ErrorKind::UnknownArgument, told));
        }
        Self::from_arg_matches(&matches)
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask a question, or have an alert diagnosed: progress on stderr, the report on stdout
    Ask(Ask),
    /// Show the runs of a session, or one run with its result
    Runs(Runs),
    /// Show the steps, tool calls, budget and cost of a run
    Trace(OfRun),
    /// Show what the report of a run rests on
    Evidence(OfRun),
    /// Show how well runs went: outcomes, tools, feedback, time and cost
    Quality(Quality),
    /// Say whether a run's answer was right
    Feedback(Feedback),
    /// Runbooks: list, push, get, remove, search
    #[command(subcommand)]
    Docs(Docs),
    /// API keys: create, list, revoke
    #[command(subcommand)]
    Keys(Keys),
}

#[derive(Debug, Args)]
pub struct Ask {
    /// Go on in this session
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Print the event stream as it comes
    #[arg(long)]
    pub raw: bool,
    /// Read the question, or the JSON body of an alert, from a file (`-`: standard input)
    #[arg(long, value_name = "FILE", conflicts_with = "question")]
    pub file: Option<PathBuf>,
    /// Give up when the connection breaks, rather than send again or follow the run by asking
    #[arg(long)]
    pub no_retry: bool,
    /// The question; without one, or with `-`, it is read from standard input
    #[arg(value_name = "QUESTION")]
    pub question: Vec<String>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub struct Runs {
    /// Show this run with its result
    #[arg(group = "which", value_name = "RUN_ID")]
    pub run: Option<String>,
    /// List the runs of this session, newest first
    #[arg(long, group = "which", value_name = "ID")]
    pub session: Option<String>,
    /// How many runs to list
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub limit: u32,
}

#[derive(Debug, Args)]
pub struct OfRun {
    #[arg(value_name = "RUN_ID")]
    pub run: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rating {
    Up,
    Down,
}

#[derive(Debug, Args)]
pub struct Feedback {
    #[arg(value_name = "RUN_ID")]
    pub run: String,
    pub rating: Rating,
    /// What was right or wrong, in your words
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
    /// A short code such as WRONG_CAUSE
    #[arg(long, value_name = "CODE")]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub struct Quality {
    /// Runs that started from here on, as 2026-11-30T00:00:00Z [default: 7 days before the end]
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Runs that started before this [default: now]
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::read(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_options_stand_before_or_behind_the_command() {
        for line in ["superbiz --url http://h --json ask why", "superbiz ask why --json --url http://h"] {
            let cli = parse(line).unwrap();
            assert_eq!((cli.url.as_deref(), cli.json), (Some("http://h"), true), "{line}");
        }
    }

    #[test]
    fn a_question_may_be_many_words_and_begin_with_a_hyphen() {
        let Command::Ask(ask) = parse("superbiz ask --raw -- -5 degrees? why").unwrap().command else {
            panic!("ask")
        };
        assert_eq!((ask.raw, ask.question.join(" ").as_str()), (true, "-5 degrees? why"));
        let Command::Ask(ask) = parse("superbiz ask -").unwrap().command else { panic!("ask") };
        assert_eq!(ask.question, ["-"]);
    }

    #[test]
    fn wrong_usage_exits_with_2() {
        for line in [
            "superbiz",
            "superbiz nothing",
            "superbiz ask --file a.json why",
            "superbiz ask --key secret why",
            "superbiz ask --api-key secret why",
            "superbiz --api-key secret ask why",
            "superbiz quality --from",
            "superbiz runs",
            "superbiz runs r1 --session s",
            "superbiz runs --session s --limit 0",
            "superbiz feedback r1 sideways",
            "superbiz docs push",
            "superbiz docs push d --delete-missing",
            "superbiz docs search q --top-k 51",
            "superbiz keys create --caller a",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
        assert_eq!(parse("superbiz --help").unwrap_err().exit_code(), 0);
    }

    #[test]
    fn commands_take_what_they_need() {
        assert!(
            matches!(parse("superbiz runs r1").unwrap().command, Command::Runs(Runs { run: Some(run), .. }) if run == "r1")
        );
        assert!(matches!(
            parse("superbiz feedback r1 down --comment x --reason WRONG_CAUSE").unwrap().command,
            Command::Feedback(Feedback { rating: Rating::Down, .. })
        ));
        assert!(
            matches!(parse("superbiz docs push d --prefix p- --delete-missing").unwrap().command, Command::Docs(Docs::Push(push)) if push.delete_missing)
        );
        assert!(
            matches!(parse("superbiz keys create --caller ci --scopes chat,documents:write").unwrap().command, Command::Keys(Keys::Create(key)) if key.scopes == ["chat", "documents:write"])
        );
    }
}
