// The deploy step that applies migrations: it invokes the maintenance function and fails the deploy if that fails.
'use strict';

const ATTEMPTS = 3;
const PAUSE_MS = 20_000;

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Invokes until a migration succeeded; a database that wakes up and a function that is busy are given time. */
async function migrate(invoke, pause = () => sleep(PAUSE_MS)) {
  for (let attempt = 1; ; attempt += 1) {
    let trouble;
    try {
      const answer = await invoke();
      const text = Buffer.from(answer.Payload ?? []).toString('utf8');
      if (!answer.FunctionError) return text;
      trouble = text || answer.FunctionError;
    } catch (fault) {
      trouble = `${fault.name}: ${fault.message}`;
    }
    if (attempt === ATTEMPTS) throw new Error(`migrations were not applied: ${trouble.slice(0, 1000)}`);
    console.warn(`attempt ${attempt}: ${trouble}`);
    await pause();
  }
}

exports.migrate = migrate;
exports.handler = async (event) => {
  // Going back to earlier code takes no migration back: migrations only ever add.
  if (event.RequestType === 'Delete') return { PhysicalResourceId: event.PhysicalResourceId };
  const { LambdaClient, InvokeCommand } = require('@aws-sdk/client-lambda');
  const client = new LambdaClient({ maxAttempts: 1 });
  const { FunctionName } = event.ResourceProperties;
  const invoke = () => client.send(new InvokeCommand({ FunctionName, Payload: JSON.stringify({ task: 'migrate' }) }));
  console.log(await migrate(invoke));
  return { PhysicalResourceId: event.LogicalResourceId };
};
