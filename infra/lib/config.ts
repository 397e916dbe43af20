// What one deployment says about itself, and every fault in it named at once.
export interface Config {
  stage: string;
  modelBaseUrl: string;
  modelName: string;
  /** Full ARN of the secret whose whole text is the provider's key. */
  modelSecretArn: string;
  /** CloudWatch log groups the agent may read; nothing else is granted. */
  logGroups: string[];
  runTimeoutSeconds: number;
  chatConcurrency: number;
  /** Connections one execution environment may hold: MAX_CONNECTIONS of shared/stores/src/ledger, now 2. */
  poolConnections: number;
  /** What the database accepts; a bigger instance accepts more. */
  maxConnections: number;
  production: boolean;
  alarmEmail?: string;
  /** Folder with chat/, api/ and maintenance/, each with a bootstrap.zip. */
  packages: string;
}

export function faults(c: Config): string[] {
  const found: string[] = [];
  const say = (wrong: boolean, text: string) => { if (wrong) found.push(text); };
  say(!/^[a-z][a-z0-9]{0,15}$/.test(c.stage), 'stage must be 1 to 16 lower-case letters or digits and begin with a letter');
  say(!/^https:\/\/.+/.test(c.modelBaseUrl), 'modelBaseUrl must be an https URL');
  say(c.modelName.trim() === '', 'modelName must not be empty');
  say(!/^arn:[^:]+:secretsmanager:[^:]+:\d{12}:secret:.+/.test(c.modelSecretArn), 'modelSecretArn must be the ARN of a secret');
  say(c.logGroups.some((g) => !/^[\w\-/.#]+$/.test(g)), 'logGroups must be names of log groups without wildcards');
  for (const name of ['runTimeoutSeconds', 'chatConcurrency', 'poolConnections', 'maxConnections'] as const) {
    say(!Number.isInteger(c[name]) || c[name] < 1, `${name} must be a whole number of at least 1`);
  }
  say(c.runTimeoutSeconds > 870, 'runTimeoutSeconds must be at most 870: a function ends after 900');
  say((c.chatConcurrency + API_CONCURRENCY + 1) * c.poolConnections > c.maxConnections,
    `(chatConcurrency + ${API_CONCURRENCY} + 1) × poolConnections must be at most maxConnections`);
  return found;
}

/** Execution environments of the api function at most. */
export const API_CONCURRENCY = 5;

export function checked(c: Config): Config {
  const found = faults(c);
  if (found.length > 0) throw new Error(`the configuration has ${found.length} fault(s):\n  ${found.join('\n  ')}`);
  return c;
}
