// What one deployment says about itself, and every fault in it named at once.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { sourcesFaults } from './data-sources';

export interface Provider {
  wire?: 'openai' | 'anthropic';
  /** A name of the product's provider profiles; without it the address decides. */
  profile?: string;
  baseUrl: string;
  name: string;
  /** Full ARN of the secret whose whole text is the provider's key. */
  secretArn: string;
}

/** `iam`: the gateway admits signed callers only and the functions see one caller. The others are told apart by the functions. */
export type Auth = { mode: 'api_key' } | { mode: 'oidc'; issuer: string; audience: string } | { mode: 'iam' };

export interface Config {
  stage: string;
  model: Provider;
  fallback?: Provider;
  auth: Auth;
  /** RDS MySQL on an instance, or Aurora Serverless v2. */
  database: 'instance' | 'serverless';
  /** Aurora capacity units: 0 lets an idle database sleep, if `sweepMinutes` lets it. */
  minCapacity: number;
  maxCapacity: number;
  /** TOML file that declares log sources and business databases, relative to the configuration file. */
  dataSources?: string;
  /** For each `url_env` of the data sources: the ARN of the secret whose whole text is that database's URL. */
  databaseUrlSecrets: Record<string, string>;
  runTimeoutSeconds: number;
  chatConcurrency: number;
  apiConcurrency: number;
  /** Connections one execution environment may hold: MAX_CONNECTIONS of shared/stores/src/ledger, now 2. */
  poolConnections: number;
  /** What the database accepts; a bigger instance accepts more. */
  maxConnections: number;
  requestsPerSecond: number;
  retentionDays: number;
  logRetentionDays: number;
  sweepMinutes: number;
  /** Model cost in an hour from which an alarm goes off. */
  hourlyCostUsd: number;
  production: boolean;
  alarmEmail?: string;
  /** More variables of the functions, by the names in environment.json: budgets, callers' limits, LOG_LEVEL. */
  environment: Record<string, string>;
  /** Folder with chat/, api/ and maintenance/, each with a bootstrap.zip. */
  packages: string;
}

/** Execution environments of the maintenance function: a task by hand or a migration beside the sweep. */
export const MAINTENANCE_CONCURRENCY = 2;
export const FUNCTIONS = ['chat', 'api', 'maintenance'] as const;
export type FunctionName = (typeof FUNCTIONS)[number];

/** This folder, from source or from dist. */
export const INFRA = [resolve(__dirname, '..'), resolve(__dirname, '../..')].find((folder) => existsSync(join(folder, 'package.json')))!;
/** The variables that each function reads. */
export const ENVIRONMENT = JSON.parse(readFileSync(join(INFRA, 'environment.json'), 'utf8')) as Record<FunctionName, string[]>;
/** Variables that the stack sets itself or that belong in another field; a key in the clear belongs in none. */
const OWN = ['ALLOW_ANONYMOUS', 'AUTH_MODE', 'CANONICAL_STORE', 'DATABASE_SECRET_ARN', 'DATABASE_URL', 'DATA_SOURCES', 'OIDC_AUDIENCE',
  'OIDC_ISSUER', 'RETENTION_DAYS', 'RUN_CONTROL_TABLE', 'RUN_TIMEOUT_SECONDS'];
const IN_FIELDS = /^MODEL_(FALLBACK_)?(WIRE|PROFILE|BASE_URL|NAME|API_KEY(_SECRET_ARN)?)$/;
/** What CloudWatch Logs accepts as retention. */
const LOG_RETENTION = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653];

const DEFAULTS: Partial<Config> = {
  auth: { mode: 'api_key' }, database: 'instance', minCapacity: 0.5, maxCapacity: 4, databaseUrlSecrets: {}, runTimeoutSeconds: 110,
  chatConcurrency: 10, apiConcurrency: 5, poolConnections: 2, maxConnections: 60, requestsPerSecond: 20, retentionDays: 90,
  logRetentionDays: 30, sweepMinutes: 1, hourlyCostUsd: 5, production: false, environment: {},
  packages: resolve(INFRA, '../target/lambda'),
};
const FIELDS = [...Object.keys(DEFAULTS), 'stage', 'model', 'fallback', 'dataSources', 'alarmEmail'];

/** Reads a configuration file (JSON); paths in it are relative to it. */
export function load(file: string): Config {
  let said: Partial<Config>;
  try {
    said = JSON.parse(readFileSync(file, 'utf8'));
  } catch (fault) {
    throw new Error(`${file} can't be read as JSON: ${(fault as Error).message}`);
  }
  if (typeof said !== 'object' || said === null || Array.isArray(said)) throw new Error(`${file} must be a JSON object`);
  const config = { ...DEFAULTS, ...said } as Config;
  const beside = (path: string) => resolve(dirname(resolve(file)), path);
  if (typeof said.dataSources === 'string') config.dataSources = beside(said.dataSources);
  if (typeof said.packages === 'string') config.packages = beside(said.packages);
  return config;
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';
export const isSecretArn = (value: unknown) => isText(value) && /^arn:[^:]+:secretsmanager:[^:]+:\d{12}:secret:[^*?]+$/.test(value);

function providerFaults(label: string, p: Provider | undefined): string[] {
  if (typeof p !== 'object' || p === null) return [`${label} must be an object with baseUrl, name and secretArn`];
  const found: string[] = [];
  const say = (wrong: boolean, text: string) => { if (wrong) found.push(`${label}.${text}`); };
  for (const field of Object.keys(p)) say(!['wire', 'profile', 'baseUrl', 'name', 'secretArn'].includes(field), `${field} is no field`);
  say(p.wire !== undefined && !['openai', 'anthropic'].includes(p.wire), 'wire must be openai or anthropic');
  say(p.profile !== undefined && !isText(p.profile), 'profile must be a name, or left out');
  say(!isText(p.baseUrl) || !/^https:\/\/[^/]+/.test(p.baseUrl), 'baseUrl must be an https URL');
  say(!isText(p.name), 'name must be the model\'s name as the provider spells it');
  say(!isSecretArn(p.secretArn), 'secretArn must be the full ARN of a secret');
  return found;
}

function authFaults(auth: Auth): string[] {
  if (auth?.mode === 'api_key' || auth?.mode === 'iam') return [];
  if (auth?.mode !== 'oidc') return ['auth.mode must be api_key, oidc or iam'];
  const found: string[] = [];
  if (!isText(auth.issuer) || !/^https:\/\/[^/]+/.test(auth.issuer)) found.push('auth.issuer must be an https URL');
  if (!isText(auth.audience)) found.push('auth.audience must be the audience of this service\'s tokens');
  return found;
}

export function faults(c: Config): string[] {
  const found: string[] = [];
  const say = (wrong: boolean, text: string) => { if (wrong) found.push(text); };
  for (const field of Object.keys(c)) say(!FIELDS.includes(field), `${field} is no field of a configuration`);
  say(!isText(c.stage) || !/^[a-z][a-z0-9]{0,15}$/.test(c.stage), 'stage must be 1 to 16 lower-case letters or digits and begin with a letter');
  found.push(...providerFaults('model', c.model), ...(c.fallback === undefined ? [] : providerFaults('fallback', c.fallback)), ...authFaults(c.auth));
  for (const name of ['runTimeoutSeconds', 'chatConcurrency', 'apiConcurrency', 'poolConnections', 'maxConnections', 'requestsPerSecond',
    'retentionDays', 'sweepMinutes'] as const) {
    say(!Number.isInteger(c[name]) || c[name] < 1, `${name} must be a whole number of at least 1`);
  }
  say(c.runTimeoutSeconds > 870, 'runTimeoutSeconds must be at most 870: a function ends after 900');
  say(c.sweepMinutes > 60, 'sweepMinutes must be at most 60: a run whose function died stays open until the sweep');
  say((c.chatConcurrency + c.apiConcurrency + MAINTENANCE_CONCURRENCY) * c.poolConnections > c.maxConnections,
    `(chatConcurrency + apiConcurrency + ${MAINTENANCE_CONCURRENCY}) × poolConnections must be at most maxConnections`);
  say(!['instance', 'serverless'].includes(c.database), 'database must be instance or serverless');
  const units = (value: number) => typeof value === 'number' && value >= 0 && value <= 256 && Number.isInteger(value * 2);
  say(!units(c.minCapacity) || !units(c.maxCapacity) || c.maxCapacity < 1 || c.minCapacity > c.maxCapacity,
    'minCapacity and maxCapacity must be halves from 0 to 256, the second at least 1 and not the smaller one');
  say(!LOG_RETENTION.includes(c.logRetentionDays), `logRetentionDays must be one of ${LOG_RETENTION.join(', ')}`);
  say(typeof c.hourlyCostUsd !== 'number' || !(c.hourlyCostUsd > 0), 'hourlyCostUsd must be a sum of money');
  say(typeof c.production !== 'boolean', 'production must be true or false');
  say(c.alarmEmail !== undefined && (!isText(c.alarmEmail) || !/^[^@\s]+@[^@\s]+$/.test(c.alarmEmail)), 'alarmEmail must be a mail address');
  say(c.dataSources !== undefined && !isText(c.dataSources), 'dataSources must be the path of a TOML file');
  for (const [name, arn] of Object.entries(c.databaseUrlSecrets ?? {})) say(!isSecretArn(arn), `databaseUrlSecrets.${name} must be the full ARN of a secret`);
  found.push(...sourcesFaults(c));
  for (const [name, value] of Object.entries(c.environment ?? {})) {
    say(!FUNCTIONS.some((f) => ENVIRONMENT[f].includes(name)), `environment.${name} is read by no function`);
    say(OWN.includes(name) || IN_FIELDS.test(name), `environment.${name} is set by the stack from another field`);
    say(!isText(value), `environment.${name} must be a text that is not empty`);
  }
  say(!isText(c.packages), 'packages must be a folder');
  return found;
}

export function checked(c: Config): Config {
  const found = faults(c);
  if (found.length > 0) throw new Error(`the configuration has ${found.length} fault(s):\n  ${found.join('\n  ')}`);
  return c;
}

export const zip = (c: Config, name: FunctionName) => join(c.packages, name, 'bootstrap.zip');
export const digest = (...parts: (string | Buffer)[]) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex');
