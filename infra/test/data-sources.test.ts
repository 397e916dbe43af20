// The DATA_SOURCES file: given to chat, and granted as it is written.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { App } from 'aws-cdk-lib';
import { faults } from '../lib/config';
import { readSources } from '../lib/data-sources';
import { example, functions, profile, rights, stack } from './templates';

function file(text: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'superbiz-')), 'd.toml');
  writeFileSync(path, text);
  return path;
}
const group = (name: string) => `[[logs]]\nname = "l"\ndescription = "d"\nkind = "cloudwatch"\ngroups = [{ service = "s", name = "${name}" }]\n`;
const database = (line: string) => `[[databases]]\nname = "d"\ndescription = "d"\nkind = "mysql"\n${line}\n[[databases.tables]]\nname = "t"\n`;

test('chat has the file in a layer, as it is', () => {
  const { chat, api } = functions(profile('production'));
  assert.equal(chat.Environment.Variables.DATA_SOURCES, '/opt/data-sources.toml');
  assert.equal(chat.Layers.length, 1);
  assert.equal(api.Layers, undefined);
  const app = new App();
  const made = stack(example('production'), app);
  const assets = JSON.parse(readFileSync(join(app.synth().directory, `${made.artifactId}.assets.json`), 'utf8')).files;
  const sources = Object.values(assets as Record<string, { source: { path: string } }>).map((a) => join(app.outdir, a.source.path, 'data-sources.toml'));
  const texts = sources.flatMap((path) => { try { return [readFileSync(path, 'utf8')]; } catch { return []; } });
  assert.deepEqual(texts, [readFileSync('examples/data-sources.toml', 'utf8')]);
});
test('chat may query exactly the log groups that are named', () => {
  const query = rights(profile('production'), 'chat').filter((s) => s.Action === 'logs:StartQuery').flatMap((s) => s.Resource);
  const text = query.map((arn) => JSON.stringify(arn));
  assert.equal(text.length, 3);
  for (const [i, name] of ['/ecs/order-service', '/ecs/payment-gateway', '/edge/proxy'].entries()) assert.match(text[i]!, new RegExp(`log-group:${name}:\\*`));
  assert.match(text[2]!, /logs:eu-west-1/);
  assert.doesNotMatch(text[0]!, /eu-west-1/);
  for (const name of ['api', 'maintenance']) assert.doesNotMatch(JSON.stringify(rights(profile('production'), name)), /logs:/);
});
test('without the file there is no right and no variable', () => {
  assert.equal(functions(profile('smallest')).chat.Environment.Variables.DATA_SOURCES, undefined);
  assert.doesNotMatch(JSON.stringify(rights(profile('smallest'), 'chat')), /logs:/);
});
test('a secret that the file names is granted', () => {
  const arn = 'arn:aws:secretsmanager:us-east-1:111122223333:secret:orders-AbCdEf';
  const { secretArns, faults: found } = readSources(file(database(`url_secret_arn = "${arn}"`)));
  assert.deepEqual([secretArns, found], [[arn], []]);
});
for (const [what, text, right] of [
  ['a file that is not there', undefined, /can't be read/],
  ['no TOML', '[[logs', /can't be read/],
  ['another table', '[metrics]\nx = 1\n', /metrics is no part/],
  ['a folder of files', '[[logs]]\nname = "l"\ndescription = "d"\nkind = "files"\npath = "p"\nservices = ["s"]\n', /no folder of log files/],
  ['a wildcard', group('/app/*'), /without wildcards/],
  ['a name twice', group('/a') + group('/b'), /used twice/],
  ['a URL in the file', database('url = "mysql://u:p@h/d"'), /url_env/],
  ['a variable of AWS', database('url_env = "AWS_URL"'), /AWS does not use/],
  ['a database whose secret is not named', database('url_env = "D_URL"'), /databaseUrlSecrets.D_URL is not set/],
] as [string, string | undefined, RegExp][]) {
  test(`refused: ${what}`, () => {
    const dataSources = text === undefined ? '/nonexistent.toml' : file(text);
    assert.match(faults({ ...example('smallest'), dataSources }).join('\n'), right);
  });
}
test('refused: a secret for no database', () => {
  const databaseUrlSecrets = { D_URL: 'arn:aws:secretsmanager:us-east-1:111122223333:secret:d-AbCdEf' };
  assert.match(faults({ ...example('smallest'), databaseUrlSecrets }).join('\n'), /belongs to no database/);
});
