// What a deployment costs, from what its template holds and the prices in prices.json. COST.md is written by `npm run cost`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { INFRA } from './config';

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = any;
export interface Line { what: string; count: string; month: number }

const prices = JSON.parse(readFileSync(join(INFRA, 'prices.json'), 'utf8')) as Json;

function price(table: string, name: string): number {
  const found = prices[table][name];
  if (typeof found !== 'number') throw new Error(`prices.json has no ${table}.${name}`);
  return found;
}
const hourly = (name: string) => price('perHour', name) * prices.hours;

/** What is paid in a month in which nobody asks anything. */
export function standing(template: Json): Line[] {
  const all = (type: string): Json[] => Object.values<Json>(template.Resources).filter((r) => r.Type === type).map((r) => r.Properties);
  const lines: Line[] = [];
  const add = (what: string, count: number, each: number, unit = '') => { if (count > 0) lines.push({ what, count: `${count}${unit}`, month: count * each }); };
  add('NAT gateways', all('AWS::EC2::NatGateway').length, hourly('natGateway'));
  add('Public addresses of the NAT gateways', all('AWS::EC2::EIP').length, hourly('publicAddress'));
  for (const d of all('AWS::RDS::DBInstance').filter((i) => i.DBInstanceClass !== 'db.serverless')) {
    const zones = d.MultiAZ ? ' two zones' : '';
    add(`Database ${d.DBInstanceClass}${d.MultiAZ ? ' in two zones' : ''}`, 1, hourly(`${d.DBInstanceClass}${zones}`));
    add('Storage of the database', Number(d.AllocatedStorage), price('perMonth', `databaseGigabyte${zones}`), ' GiB');
  }
  const instances = all('AWS::RDS::DBInstance').filter((i) => i.DBInstanceClass === 'db.serverless').length;
  for (const cluster of all('AWS::RDS::DBCluster')) {
    const least = cluster.ServerlessV2ScalingConfiguration.MinCapacity as number;
    if (least > 0) add(`Aurora at its least of ${least} units`, instances, least * hourly('auroraUnit'));
    else add(`Aurora, asleep ${prices.assumed.asleepShare * 100} % of the time, else at 0.5 units`, instances, 0.5 * (1 - prices.assumed.asleepShare) * hourly('auroraUnit'));
  }
  add('Canonical store (Valkey) at its least', all('AWS::ElastiCache::ServerlessCache').length, prices.assumed.valkeyGigabytes * hourly('valkeyGigabyte'));
  add('Secrets of the stack', all('AWS::SecretsManager::Secret').length, price('perMonth', 'secret'));
  const watched = all('AWS::CloudWatch::Alarm').reduce((n, a) => n + (a.Metrics ? a.Metrics.filter((m: Json) => m.MetricStat).length : 1), 0);
  add('Metrics that alarms watch', watched, price('perMonth', 'alarmMetric'));
  add('Dashboards', all('AWS::CloudWatch::Dashboard').length, price('perMonth', 'dashboard'));
  add('Metrics of the product, once there are runs', prices.assumed.metrics, price('perMonth', 'metric'));
  const rates = all('AWS::Events::Rule').map((r) => r.ScheduleExpression as string);
  const minutes = rates.map((r) => /^rate\((\d+) (minute|hour)s?\)$/.exec(r)).filter((m) => m !== null).map((m) => Number(m![1]) * (m![2] === 'hour' ? 60 : 1));
  for (const m of minutes) {
    const calls = Math.round((prices.hours * 60) / m);
    add('Sweeps', calls, price('perUse', 'lambdaRequest') + 0.25 * prices.assumed.run.requestSeconds * price('perUse', 'lambdaGigabyteSecondArm') + price('perUse', 'trace'));
  }
  return lines;
}

/** What a thousand runs add, without the model. */
export function thousandRuns(template: Json): Line[] {
  const run = prices.assumed.run;
  const chat = Object.values<Json>(template.Resources).map((r) => r.Properties).find((p) => /-chat$/.test(p?.FunctionName ?? ''));
  const gigabytes = chat.MemorySize / 1024;
  const second = price('perUse', chat.Architectures[0] === 'arm64' ? 'lambdaGigabyteSecondArm' : 'lambdaGigabyteSecondX86');
  const n = 1000;
  const requests = n * (1 + run.requests);
  const line = (what: string, count: string, month: number): Line => ({ what, count, month });
  const kilo = 1 / 1_000_000;
  return [
    line(`Lambda, ${chat.MemorySize} MB, ${run.seconds} s a run`, `${n * run.seconds * gigabytes} GB-s`, n * (run.seconds + run.requests * run.requestSeconds) * gigabytes * second + requests * price('perUse', 'lambdaRequest')),
    line('Gateway, a run and what the page asks around it', `${requests}`, requests * price('perUse', 'gatewayRequest')),
    line('Run control (DynamoDB)', `${n * run.tableWrites} writes, ${n * run.tableReads} reads`, n * (run.tableWrites * price('perUse', 'tableWrite') + run.tableReads * price('perUse', 'tableRead'))),
    line('Canonical store', `${n * run.valkeyUnits} units`, n * run.valkeyUnits * price('perUse', 'valkeyUnit')),
    line('Logs', `${n * run.logKilobytes * kilo} GB`, n * run.logKilobytes * kilo * price('perUse', 'logGigabyte')),
    line('Traffic through the NAT gateway', `${n * run.natKilobytes * kilo} GB`, n * run.natKilobytes * kilo * price('perUse', 'natGigabyte')),
    line('Traces', `${requests}`, requests * price('perUse', 'trace')),
  ];
}

const money = (value: number) => `$${value.toFixed(2)}`;
const total = (lines: Line[]) => lines.reduce((n, l) => n + l.month, 0);

function table(title: string, lines: Line[], sum: string): string {
  const rows = lines.map((l) => `| ${l.what} | ${l.count} | ${money(l.month)} |`);
  return [`### ${title}`, '', '| what | how many | $ |', '| --- | --- | ---: |', ...rows, `| **${sum}** | | **${money(total(lines))}** |`, ''].join('\n');
}

/** COST.md, from the templates of the profiles. */
export function page(templates: Record<string, Json>): string {
  const names = Object.keys(templates);
  const a = prices.assumed;
  const rows = names.map((n) => {
    const [base, more] = [total(standing(templates[n])), total(thousandRuns(templates[n]))];
    return `| \`examples/${n}.json\` | ${money(base)} | ${money(more)} | ${money(base + 10 * more)} |`;
  });
  return `${[
    '# Cost', '',
    'Written by `npm run cost` from the templates of `examples/` and `prices.json`; a test fails when it is stale. An estimate, and no bill was compared with it.', '',
    `Prices: ${prices.region}, written down ${prices.written}. ${prices.note}`, '',
    '**The model is not in it.** Its tokens can cost more than all the rest; the product counts them (`CostUsd`), and budgets and callers\' limits bound them.', '',
    '| deployment | a month of standing there | 1,000 runs more | a month with 10,000 runs |', '| --- | ---: | ---: | ---: |', ...rows, '',
    `Assumed: a run of ${a.run.seconds} s with ${a.run.requests} requests around it, ${a.run.tableWrites} writes and ${a.run.tableReads} reads of run control, ${a.run.logKilobytes} kB of logs and ${a.run.natKilobytes} kB through the NAT gateway; ${a.metrics} metrics; a month of ${prices.hours} hours. Not in it: backups, growing storage, what Insights queries scan ($ per GB of your logs), a day of many bytes in the canonical store, support.`, '',
    'Most of it is the NAT gateway and the database, which cost the same whether anybody asks or not.', '',
    ...names.flatMap((n) => [`## ${n}`, '', table('Standing, a month', standing(templates[n]), 'a month'), table('A thousand runs', thousandRuns(templates[n]), 'a thousand runs')]),
  ].join('\n').trimEnd()}\n`;
}
