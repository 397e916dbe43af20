// The DATA_SOURCES file as the product reads it (shared/app/src/data_sources.rs): what it refers to is what may be read, no more.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Stack, aws_iam as iam, aws_lambda as lambda } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { parse } from 'smol-toml';
import type { Config } from './config';

/** Where a layer's file is in a function. */
const PATH = '/opt/data-sources.toml';

export interface Sources {
  text: string;
  /** Log groups, and the region if it is not the function's own. */
  groups: { name: string; region?: string }[];
  /** The variables that hold the databases' URLs. */
  urlVariables: string[];
  /** Secrets that the file names itself, by keys that end in `secret_arn`. */
  secretArns: string[];
  faults: string[];
}

type Table = Record<string, unknown>;
const tables = (value: unknown): Table[] => (Array.isArray(value) ? value.filter((v): v is Table => typeof v === 'object' && v !== null) : []);
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

function secretArns(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (/secret_arn$/.test(key) ? [inner] : secretArns(inner)));
}

export function readSources(file: string): Sources {
  const found: Sources = { text: '', groups: [], urlVariables: [], secretArns: [], faults: [] };
  let root: Table;
  try {
    found.text = readFileSync(file, 'utf8');
    root = parse(found.text);
  } catch (fault) {
    found.faults.push(`can't be read: ${(fault as Error).message.split('\n')[0]}`);
    return found;
  }
  const say = (wrong: boolean, text: string) => { if (wrong) found.faults.push(text); };
  for (const key of Object.keys(root)) say(!['logs', 'databases'].includes(key), `${key} is no part of it: there are [[logs]] and [[databases]]`);
  const names = [...tables(root.logs), ...tables(root.databases)].map((source) => source.name);
  for (const name of names) say(!isText(name) || !/^[A-Za-z0-9_-]{1,64}$/.test(name), `source name ${JSON.stringify(name)} must be 1 to 64 characters of A-Z a-z 0-9 _ -`);
  say(new Set(names).size !== names.length, 'a source name is used twice');
  for (const log of tables(root.logs)) {
    const label = `log source ${JSON.stringify(log.name)}`;
    if (log.kind !== 'cloudwatch') {
      say(true, `${label} must be of kind = "cloudwatch": a deployed function has no folder of log files`);
      continue;
    }
    say(log.region !== undefined && (!isText(log.region) || !/^[a-z]{2}(-[a-z]+)+-\d$/.test(log.region)), `${label}: region must be a region's name`);
    say(tables(log.groups).length === 0, `${label} needs at least one [[logs.groups]] with service and name`);
    for (const group of tables(log.groups)) {
      const plain = isText(group.name) && /^[\w\-/.#]{1,512}$/.test(group.name);
      say(!plain, `${label}: ${JSON.stringify(group.name)} must be the name of a log group, without wildcards`);
      say(!isText(group.service), `${label}: each of its groups needs a service`);
      if (plain) found.groups.push({ name: group.name as string, ...(isText(log.region) ? { region: log.region } : {}) });
    }
  }
  for (const database of tables(root.databases)) {
    const label = `database ${JSON.stringify(database.name)}`;
    const byReference = secretArns(database).length > 0;
    say(database.kind !== 'mysql', `${label} must be of kind = "mysql": a deployed function has no database file`);
    say(database.url !== undefined, `${label} must take its URL by url_env: it holds credentials`);
    say(!byReference && !isText(database.url_env), `${label} needs url_env`);
    say(tables(database.tables).length === 0, `${label} allows no tables`);
    if (isText(database.url_env)) {
      say(!/^[A-Z][A-Z0-9_]*$/.test(database.url_env) || /^(AWS|LAMBDA)_/.test(database.url_env), `${label}: url_env must be a name of capitals, digits and _ that AWS does not use`);
      found.urlVariables.push(database.url_env);
    }
  }
  for (const arn of secretArns(root)) {
    say(!isText(arn) || !/^arn:[^:]+:secretsmanager:[^:]+:\d{12}:secret:[^*?]+$/.test(arn), `${JSON.stringify(arn)} must be the full ARN of a secret`);
    if (isText(arn)) found.secretArns.push(arn);
  }
  return found;
}

/** Faults of the file and of what the configuration says about it. */
export function sourcesFaults(c: Config): string[] {
  const secrets = Object.keys(c.databaseUrlSecrets ?? {});
  if (!isText(c.dataSources)) return secrets.map((name) => `databaseUrlSecrets.${name} belongs to no database: there is no dataSources file`);
  const { faults, urlVariables } = readSources(c.dataSources);
  return [
    ...faults.map((fault) => `dataSources: ${fault}`),
    ...urlVariables.filter((name) => !secrets.includes(name)).map((name) => `databaseUrlSecrets.${name} is not set; name the secret whose text is that database's URL`),
    ...secrets.filter((name) => !urlVariables.includes(name)).map((name) => `databaseUrlSecrets.${name} is no url_env of the dataSources file`),
  ];
}

/** Gives the file to the function, and the right to read what it names. */
export function grantSources(scope: Construct, c: Config, chat: lambda.Function): void {
  if (!c.dataSources) return;
  const sources = readSources(c.dataSources);
  const folder = mkdtempSync(join(tmpdir(), 'superbiz-sources-'));
  writeFileSync(join(folder, 'data-sources.toml'), sources.text);
  chat.addLayers(new lambda.LayerVersion(scope, 'DataSources', { code: lambda.Code.fromAsset(folder), description: 'data-sources.toml' }));
  chat.addEnvironment('DATA_SOURCES', PATH);
  const stack = Stack.of(scope);
  if (sources.groups.length > 0) {
    const arn = (group: Sources['groups'][number]) => `arn:${stack.partition}:logs:${group.region ?? stack.region}:${stack.account}:log-group:${group.name}:*`;
    chat.addToRolePolicy(new iam.PolicyStatement({ actions: ['logs:StartQuery'], resources: [...new Set(sources.groups.map(arn))] }));
    // AWS knows no resource for these two: a query is named by its id alone.
    chat.addToRolePolicy(new iam.PolicyStatement({ actions: ['logs:GetQueryResults', 'logs:StopQuery'], resources: ['*'] }));
  }
  for (const name of sources.urlVariables) chat.addEnvironment(`${name}_SECRET_ARN`, c.databaseUrlSecrets[name]!);
  const secrets = new Set([...sources.urlVariables.map((name) => c.databaseUrlSecrets[name]!), ...sources.secretArns]);
  if (secrets.size > 0) chat.addToRolePolicy(new iam.PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [...secrets] }));
}
