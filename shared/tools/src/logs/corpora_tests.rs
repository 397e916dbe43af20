//! How well kinds of lines are told apart: lines in the styles of ten well-known systems, made from labelled templates, through the
//! reading and mining that `query_logs` uses.
//!
//! A style's file has the front of its lines first, then one template a line; `{kind}` stands for what varies. Grouping accuracy is
//! the share of lines whose group holds exactly the lines of their template.

use std::collections::HashMap;

use super::line::LogLine;
use super::patterns::Miner;

const STYLES: [&str; 10] =
    ["hdfs", "hadoop", "spark", "zookeeper", "openstack", "openssh", "apache", "linux", "spring", "nginx"];
const LINES: usize = 2000;
/// What the ten styles reach on average at least; single ones may lie below.
const WANTED: f64 = 0.9;

/// Numbers that look random and are always the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }

    fn hex(&mut self, n: usize) -> String {
        (0..n).map(|_| char::from_digit(self.below(16) as u32, 16).unwrap()).collect()
    }

    fn number(&mut self) -> u64 {
        let digits = 1 + self.below(7) as u32;
        self.below(10u64.pow(digits)) + 10
    }

    fn ip(&mut self) -> String {
        format!("10.{}.{}.{}", self.below(256), self.below(256), 1 + self.below(254))
    }

    fn path(&mut self) -> String {
        const PARTS: [&str; 12] =
            ["user", "data", "tmp", "var", "lib", "orders", "img", "static", "v1", "part-00", "jobs", "conf"];
        let parts = 2 + self.below(4);
        (0..parts)
            .map(|_| format!("/{}{}", self.pick(&PARTS), self.pick(&["", "", "7", "_12", ".log"])))
            .collect()
    }

    fn value(&mut self, kind: &str) -> String {
        const USERS: [&str; 9] =
            ["root", "admin", "bob", "li.wei", "oracle", "test", "carol", "www-data", "backup7"];
        const HOSTS: [&str; 6] =
            ["mesos-slave-07", "node12.internal", "combo", "msra-sa-41", "db.internal", "cache-2"];
        const STATES: [&str; 7] =
            ["NEW", "UNASSIGNED", "ASSIGNED", "RUNNING", "SUCCEEDED", "SCHEDULED", "KILLED"];
        match kind {
            "num" => self.number().to_string(),
            "digit" => self.below(10).to_string(),
            "float" => format!("{}.{}", self.below(3000), self.below(10_000)),
            "blk" => format!("blk_{}{}", self.pick(&["", "-"]), 1_000_000 + self.below(u64::from(u32::MAX))),
            "ip" => self.ip(),
            "ipport" => format!("{}:{}", self.ip(), 1024 + self.below(60_000)),
            "path" => self.path(),
            "hex" => {
                let n = 6 + self.below(8) as usize;
                self.hex(n)
            }
            "hex16" => self.hex(16),
            "hex32" => self.hex(32),
            "uuid" => {
                format!("{}-{}-{}-{}-{}", self.hex(8), self.hex(4), self.hex(4), self.hex(4), self.hex(12))
            }
            "user" => self.pick(&USERS).to_owned(),
            "host" => self.pick(&HOSTS).to_owned(),
            "state" => self.pick(&STATES).to_owned(),
            "gateway" => self.pick(&["acquirer-a", "acquirer-b", "alipay"]).to_owned(),
            "fqdn" => format!(
                "{}.{}",
                self.pick(&["shop", "api", "static-9", "ns.marryaldkfaczcz"]),
                self.pick(&["example", "com.example"])
            ),
            "prog" => {
                let n = self.number();
                self.pick(&["sshd(pam_unix)[N]", "su(pam_unix)[N]", "ftpd[N]", "kernel", "logrotate"])
                    .replace('N', &n.to_string())
            }
            "level" => self.pick(&["INFO", "INFO", "INFO", "WARN", "ERROR"]).to_owned(),
            "nginxlevel" => "error".to_owned(),
            "apachelevel" => self.pick(&["notice", "error"]).to_owned(),
            "thread" => self
                .pick(&[
                    "main",
                    "IPC Server handler 5 on 62270",
                    "AsyncDispatcher event handler",
                    "RMCommunicator Allocator",
                ])
                .to_owned(),
            "zkthread" => self
                .pick(&[
                    "QuorumPeer[myid=1]/0:0:0:0:0:0:0:0:2181:FastLeaderElection@774",
                    "NIOServerCxn.Factory:0.0.0.0/0.0.0.0:2181:NIOServerCnxn@1001",
                    "SendWorker:188978561024:QuorumCnxManager$SendWorker@688",
                ])
                .to_owned(),
            "clock" => format!("{:02}:{:02}:{:02}", self.below(24), self.below(60), self.below(60)),
            "date6" => "081109".to_owned(),
            "time6" => format!("{:02}{:02}{:02}", self.below(24), self.below(60), self.below(60)),
            "iso," => format!("2026-10-18 {},{:03}", self.value("clock"), self.below(1000)),
            "iso." => format!("2026-10-18 {}.{:03}", self.value("clock"), self.below(1000)),
            "sparkdate" => format!("26/06/09 {}", self.value("clock")),
            "nginxdate" => format!("2026/11/30 {}", self.value("clock")),
            "syslog" => format!("Dec {:>2} {}", 1 + self.below(28), self.value("clock")),
            "apachedate" => format!("Sun Dec 04 {} 2005", self.value("clock")),
            _ => match kind.split_once(':') {
                Some(("component", names)) => {
                    let names: Vec<&str> = names.split('|').collect();
                    self.pick(&names).to_owned()
                }
                _ => panic!("unknown kind {kind}"),
            },
        }
    }

    fn fill(&mut self, template: &str) -> String {
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let (kind, tail) = after.split_once('}').unwrap();
            text.push_str(before);
            text.push_str(&self.value(kind));
            rest = tail;
        }
        text + rest
    }
}

/// Lines and the number of each one's template.
fn corpus(style: &str) -> Vec<(String, usize)> {
    let path = format!("{}/../../tests/cases/patterns/{style}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let (front, templates) = text.split_once('\n').unwrap();
    let templates: Vec<&str> = templates.lines().collect();
    assert!(templates.len() >= 15, "{style}");
    let mut dice = Dice(style.len() as u64 * 977 + 5);
    (0..LINES)
        .map(|_| {
            // Some kinds of lines are much more frequent than others.
            let most = dice.below(templates.len() as u64) + 1;
            let label = dice.below(most) as usize;
            (dice.fill(front) + &dice.fill(templates[label]), label)
        })
        .collect()
}

/// The share of lines whose group is exactly that of their label.
fn accuracy(groups: &[usize], labels: &[usize]) -> f64 {
    let mut by_group: HashMap<usize, HashMap<usize, usize>> = HashMap::new();
    let mut label_sizes: HashMap<usize, usize> = HashMap::new();
    for (group, label) in groups.iter().zip(labels) {
        *by_group.entry(*group).or_default().entry(*label).or_default() += 1;
        *label_sizes.entry(*label).or_default() += 1;
    }
    let right: usize = by_group
        .values()
        .filter(|labels| labels.len() == 1)
        .flat_map(|labels| labels.iter())
        .filter(|(label, count)| label_sizes[label] == **count)
        .map(|(_, count)| count)
        .sum();
    right as f64 / labels.len() as f64
}

#[test]
fn lines_of_ten_systems_are_grouped_by_what_happened() {
    let mut total = 0.0;
    let mut table = String::new();
    for style in STYLES {
        let corpus = corpus(style);
        let mut miner = Miner::new(600);
        let groups: Vec<usize> = corpus
            .iter()
            .map(|(line, _)| miner.assign("", LogLine::parse(line.as_bytes()).unwrap().body()))
            .collect();
        let labels: Vec<usize> = corpus.iter().map(|(_, label)| *label).collect();
        let reached = accuracy(&groups, &labels);
        total += reached;
        table.push_str(&format!("{style:10} {reached:.3} with {} groups\n", miner.len()));
    }
    let average = total / STYLES.len() as f64;
    println!("{table}average    {average:.3}");
    assert!(average >= WANTED, "{average:.3}\n{table}");
}
