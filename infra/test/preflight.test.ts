// .ci/preflight and .ci/deploy against an account that is played by a script: everything there, and each thing missing.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { packages } from './templates';

const SECRET = 'arn:aws:secretsmanager:us-east-1:111122223333:secret:superbiz-model-key-AbCdEf';
const AWS = `#!/bin/sh
case "$1 $2" in
  "sts get-caller-identity") [ -z "$NO_CREDENTIALS" ] && echo 111122223333 ;;
  "cloudformation describe-stacks") [ -z "$NO_BOOTSTRAP" ] ;;
  "secretsmanager describe-secret") [ -z "$NO_SECRET" ] ;;
  "lambda get-account-settings") echo "\${LIMIT:-1000}" ;;
  "configure get") [ -n "$CONFIGURED" ] && echo "$CONFIGURED" ;;
  *) exit 9 ;;
esac
`;
/** Plays npx: says what it was asked for, and writes the outputs of a deployment. */
const NPX = `#!/bin/sh
echo "npx $*"
while [ $# -gt 0 ]; do
  [ "$1" = --outputs-file ] && echo '{"superbiz-preflight":{"Url":"https://gateway.example/preflight/"}}' > "$2"
  shift
done
`;

interface Told { code: number | null; text: string }

function run(config: object | string | undefined, env: Record<string, string> = {}, without: string[] = [], command = ['../.ci/preflight'], input = ''): Told {
  const folder = mkdtempSync(join(tmpdir(), 'superbiz-bin-'));
  for (const [name, text] of [['aws', AWS], ['npx', NPX]] as const) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  }
  // Only these commands are there, wherever the machine has them.
  const places = [dirname(process.execPath), ...process.env.PATH!.split(':')];
  for (const name of ['bash', 'sh', 'env', 'dirname', 'sed', 'grep', 'cut', 'mkdir', 'node', 'npm']) {
    const found = places.map((p) => join(p, name)).find(existsSync);
    if (found && !existsSync(join(folder, name))) symlinkSync(found, join(folder, name));
  }
  for (const name of without) rmSync(join(folder, name));
  const file = join(folder, 'config.json');
  if (typeof config === 'object') writeFileSync(file, JSON.stringify(config));
  const named = config === undefined ? [] : [typeof config === 'string' ? config : file];
  const done = spawnSync(resolve(command[0]!), [...command.slice(1), ...named], {
    encoding: 'utf8', input, env: { PATH: folder, HOME: folder, INFRA_BUILT: '1', AWS_REGION: 'us-east-1', ...env },
  });
  return { code: done.status, text: done.stdout + done.stderr };
}

const right = () => ({ stage: 'preflight', model: { baseUrl: 'https://m.example/v1', name: 'm', secretArn: SECRET }, packages: packages() });
const deploy = (action: string, config: object, input = '', env: Record<string, string> = {}) => run(config, env, [], ['../.ci/deploy', action], input);

test('when everything is there it says so', () => {
  const { code, text } = run(right());
  assert.equal(code, 0, text);
  assert.match(text, /Everything that is needed is there/);
  assert.doesNotMatch(text, /MISSING/);
});
for (const [what, said, call] of [
  ['node', /Node.js is not installed/, () => run(right(), {}, ['node'])],
  ['the command line', /AWS command line is not installed/, () => run(right(), {}, ['aws'])],
  ['credentials', /does not accept your credentials/, () => run(right(), { NO_CREDENTIALS: '1' })],
  ['a region', /No AWS region/, () => run(right(), { AWS_REGION: '' })],
  ['the bootstrap', /cdk bootstrap aws:\/\/111122223333\/us-east-1/, () => run(right(), { NO_BOOTSTRAP: '1' })],
  ['a name of a configuration', /No configuration file was named/, () => run(undefined)],
  ['the configuration file', /is not there/, () => run('/nonexistent.json')],
  ['packages', /make package/, () => run({ ...right(), packages: '/nonexistent' })],
  ['the model\'s key', /model-key-AbCdEf can't be found/, () => run(right(), { NO_SECRET: '1' })],
  ['the region of the key', /in another region/, () => run(right(), { AWS_REGION: 'eu-west-1' })],
  ['room for the functions', /allows this account 10 executions/, () => run(right(), { LIMIT: '10' })],
] as [string, RegExp, () => Told][]) {
  test(`missing: ${what}`, () => {
    const { code, text } = call();
    assert.equal(code, 1, text);
    assert.match(text, said);
    assert.match(text, /thing\(s\) missing; nothing was changed/);
  });
}
test('a region from the command line\'s configuration will do', () => {
  assert.equal(run(right(), { AWS_REGION: '', CONFIGURED: 'us-east-1' }).code, 0);
});
test('all that is missing is told at once', () => {
  const { text } = run({ ...right(), stage: 'X', maxConnections: 1 }, { NO_CREDENTIALS: '1', AWS_REGION: '' });
  for (const part of [/2 fault\(s\)/, /stage must be/, /maxConnections/, /credentials/, /region/]) assert.match(text, part);
});
test('a deployment tells the address and how to make the first key', () => {
  const { code, text } = deploy('up', right());
  assert.equal(code, 0, text);
  assert.match(text, /npx --no-install cdk deploy .* --require-approval broadening .*superbiz-preflight/);
  assert.match(text, /The address is https:\/\/gateway\.example\/preflight\//);
  assert.match(text, /--function-name superbiz-preflight-maintenance .*\\\n +--payload '\{"task":"create_key"/);
});
test('nothing is deployed while something is missing', () => {
  const { code, text } = deploy('up', right(), '', { NO_SECRET: '1' });
  assert.equal(code, 1);
  assert.doesNotMatch(text, /npx/);
});
test('a stack is removed when its stage was typed, also without the model\'s key', () => {
  const { code, text } = deploy('down', right(), 'preflight\n', { NO_SECRET: '1' });
  assert.equal(code, 0, text);
  assert.match(text, /cdk destroy .*superbiz-preflight/);
  const other = deploy('down', right(), 'prod\n');
  assert.equal(other.code, 1);
  assert.doesNotMatch(other.text, /npx/);
});
test('production is not removed by one command', () => {
  const { code, text } = deploy('down', { ...right(), production: true }, 'preflight\n');
  assert.equal(code, 1);
  assert.match(text, /set "production": false/);
  assert.doesNotMatch(text, /npx/);
});
