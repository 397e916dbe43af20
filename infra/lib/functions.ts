// The three functions: what each is told, and what each may do.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration, RemovalPolicy, aws_iam as iam, aws_lambda as lambda, aws_logs as logs } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { Config, ENVIRONMENT, FunctionName, MAINTENANCE_CONCURRENCY, Provider, zip } from './config';
import { Data } from './data';
import { grantSources } from './data-sources';

/** Seconds between the end of a run's time and the end of its function, and from there to the gateway's patience. */
export const AFTER_RUN = 20;
export const AFTER_FUNCTION = 5;
export const API_TIMEOUT = 25;
export const MAINTENANCE_TIMEOUT = 300;

export class Functions extends Construct {
  readonly chat: lambda.Function;
  readonly api: lambda.Function;
  readonly maintenance: lambda.Function;
  readonly logs = {} as Record<FunctionName, logs.LogGroup>;

  constructor(scope: Construct, id: string, c: Config, data: Data) {
    super(scope, id);
    const ledger = {
      DATABASE_URL: data.databaseUrl, DATABASE_SECRET_ARN: data.databaseSecret.secretArn,
    };
    const stores = { ...ledger, CANONICAL_STORE: data.canonicalStore, RUN_CONTROL_TABLE: data.table.tableName };
    const model = { ...provider('MODEL_', c.model), ...(c.fallback ? provider('MODEL_FALLBACK_', c.fallback) : {}) };
    const architecture = architectureOf(c);
    const make = (name: string, timeout: number, concurrency: number, environment: Record<string, string>) => {
      const key = name.toLowerCase() as FunctionName;
      const more = Object.entries(c.environment).filter(([variable]) => ENVIRONMENT[key].includes(variable));
      this.logs[key] = new logs.LogGroup(this, `${name}Log`, {
        logGroupName: `/superbiz/${c.stage}/${key}`, retention: c.logRetentionDays,
        removalPolicy: c.production ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
      });
      const made = new lambda.Function(this, name, {
        functionName: `superbiz-${c.stage}-${key}`,
        code: lambda.Code.fromAsset(zip(c, key)), handler: 'bootstrap', runtime: lambda.Runtime.PROVIDED_AL2023, architecture, memorySize: 256,
        timeout: Duration.seconds(timeout), reservedConcurrentExecutions: concurrency, environment: { ...environment, ...Object.fromEntries(more) },
        vpc: data.vpc, securityGroups: [data.functions], tracing: lambda.Tracing.ACTIVE, logGroup: this.logs[key],
        // What the alias pointed at before must still be there to go back to.
        currentVersionOptions: { removalPolicy: RemovalPolicy.RETAIN },
      });
      made.addToRolePolicy(reads(data.databaseSecret.secretArn));
      return made;
    };
    this.chat = make('Chat', c.runTimeoutSeconds + AFTER_RUN, c.chatConcurrency, {
      ...stores, ...callers(c), ...model, RUN_TIMEOUT_SECONDS: String(c.runTimeoutSeconds),
    });
    this.api = make('Api', API_TIMEOUT, c.apiConcurrency, { ...stores, ...callers(c), ...model });
    this.maintenance = make('Maintenance', MAINTENANCE_TIMEOUT, MAINTENANCE_CONCURRENCY, { ...ledger, RETENTION_DAYS: String(c.retentionDays) });
    const keys = [c.model.secretArn, ...(c.fallback ? [c.fallback.secretArn] : [])];
    for (const f of [this.chat, this.api]) {
      data.table.grant(f, 'dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem', 'dynamodb:ConditionCheckItem');
      f.addToRolePolicy(reads(...keys));
    }
    grantSources(this, c, this.chat);
  }
}

const reads = (...secrets: string[]) => new iam.PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: secrets });

function provider(prefix: string, p: Provider): Record<string, string> {
  return {
    [`${prefix}BASE_URL`]: p.baseUrl, [`${prefix}NAME`]: p.name, [`${prefix}API_KEY_SECRET_ARN`]: p.secretArn,
    ...(p.wire ? { [`${prefix}WIRE`]: p.wire } : {}), ...(p.profile ? { [`${prefix}PROFILE`]: p.profile } : {}),
  };
}

function callers(c: Config): Record<string, string> {
  switch (c.auth.mode) {
    case 'api_key': return { AUTH_MODE: 'api_key' };
    case 'oidc': return { AUTH_MODE: 'oidc', OIDC_ISSUER: c.auth.issuer, OIDC_AUDIENCE: c.auth.audience };
    // The gateway admits signed callers only, which is why the functions may leave it at that.
    case 'iam': return { AUTH_MODE: 'none', ALLOW_ANONYMOUS: 'true' };
  }
}

/** What `make package` built for: it says so beside the packages. */
export function architectureOf(c: Config): lambda.Architecture {
  const said = join(c.packages, 'architecture');
  return existsSync(said) && readFileSync(said, 'utf8').trim() === 'x86_64' ? lambda.Architecture.X86_64 : lambda.Architecture.ARM_64;
}
