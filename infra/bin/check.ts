// Reads the configuration file that is named and says for .ci/preflight and .ci/deploy, a line each, what it needs; or every fault.
import { FUNCTIONS, MAINTENANCE_CONCURRENCY, faults, load, zip } from '../lib/config';
import { readSources } from '../lib/data-sources';

const file = process.argv[2];
if (!file) throw new Error('name a configuration file');
try {
  const c = load(file);
  const found = faults(c);
  if (found.length > 0) {
    process.stdout.write(found.map((fault) => `fault ${fault}\n`).join(''));
  } else {
    const secrets = [c.model.secretArn, c.fallback?.secretArn, ...Object.values(c.databaseUrlSecrets), ...(c.dataSources ? readSources(c.dataSources).secretArns : [])];
    const lines = [
      `stage ${c.stage}`, `production ${c.production}`, `concurrency ${c.chatConcurrency + c.apiConcurrency + MAINTENANCE_CONCURRENCY}`, `auth ${c.auth.mode}`,
      ...FUNCTIONS.map((name) => `package ${zip(c, name)}`), ...secrets.filter((arn) => arn).map((arn) => `secret ${arn}`),
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
  }
} catch (fault) {
  process.stdout.write(`fault ${(fault as Error).message}\n`);
}
