// Reads the form of Deploy: the request that the API takes, and the search that finds the machines which fit it.
import { micro, reserved } from '../show.js';
import { values } from './parameters.js';

// words splits a command line at spaces; quotes hold a part together, and a backslash outside of single quotes takes the
// next character as it is. Nothing else is special: no variables, no wildcards.
export function words(line) {
  const out = [];
  let word = null;
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const c = line[i];
    if (c === '\\' && quote !== "'" && i + 1 < line.length) word = (word ?? '') + line[++i];
    else if (quote && c === quote) quote = '';
    else if (quote) word += c;
    else if (c === '"' || c === "'") [quote, word] = [c, word ?? ''];
    else if (!/\s/.test(c)) word = (word ?? '') + c;
    else if (word !== null) [word] = [null, out.push(word)];
  }
  if (quote) throw new Error(`the command has an open ${quote}`);
  if (word !== null) out.push(word);
  return out;
}

// environment reads lines NAME=VALUE.
export function environment(text) {
  const out = {};
  for (const line of text.split('\n').filter((l) => l.trim() !== '')) {
    const at = line.indexOf('=');
    if (at < 1) throw new Error(`the environment has a line without a name and "=": ${line}`);
    out[line.slice(0, at).trim()] = line.slice(at + 1);
  }
  return out;
}

// priceOf is the price that a form has.
export function priceOf(form) {
  const text = form.elements.price.value.trim();
  if (!micro(text)) throw new Error('the price must be an amount of USDC with at most six decimals, such as 2.60');
  return text;
}

// has are the fields of an order that the form has a control of its own for.
export const has = new Set([
  'gpu', 'count', 'seconds', 'maxPricePerGpuHour', 'region', 'minTops', 'minGigabytesPerSecond', 'minDownMbps', 'allowSimulated', 'network', 'volume', 'keep', 'image', 'inspect', 'migrate', 'untilStopped', 'budget', 'command', 'entrypoint',
  'user', 'env', 'runToCompletion', 'verify',
]);

// optional are text fields that are left out when they are empty: the control's name and the request's.
const optional = [['region', 'region'], ['volume', 'volume'], ['image', 'image'], ['inspect', 'inspect'], ['budget', 'budget']];
const ofImages = [['tops', 'minTops'], ['bandwidth', 'minGigabytesPerSecond'], ['entrypoint', 'entrypoint'], ['user', 'user']];
const ticks = [['simulated', 'allowSimulated'], ['keep', 'keep'], ['migrate', 'migrate'], ['until', 'untilStopped']];

// request is what the API's order takes, from the form; of a template, what an order of it takes.
export function request(f, t, rest) {
  const text = (name) => f.elements[name].value.trim();
  const seconds = Math.round(Number(text('time')) * Number(text('unit')));
  if (!(seconds >= 1)) throw new Error('the time must be a number greater than zero');
  const r = { gpu: f.elements.gpu.value, count: Number(f.elements.count.value), seconds, maxPricePerGpuHour: priceOf(f) };
  for (const [control, name] of t ? optional : [...optional, ...ofImages]) if (text(control)) r[name] = text(control);
  for (const [control, name] of ticks) if (f.elements[control].checked) r[name] = true;
  if (text('network') === 'none') r.network = 'none';
  if (t) {
    const set = values(f, t);
    return Object.keys(set).length ? { ...r, set } : r;
  }
  if (text('down')) r.minDownMbps = Number(text('down'));
  const command = words(f.elements.command.value);
  if (command.length) r.command = command;
  const env = environment(f.elements.env.value);
  if (Object.keys(env).length) r.env = env;
  if (f.elements.completion.checked) r.runToCompletion = true;
  if (!f.elements.verify.checked) r.verify = 'never';
  return { ...r, ...rest.values() };
}

// machines are how many an order takes: a redundant job runs on each of several.
export const machines = (r) => Math.max(r.nodes ?? 1, r.redundancy ?? 1);

// most is the most that an order can cost, which is reserved.
export const most = (r, m, price = r.maxPricePerGpuHour) => reserved(m, price, r.count * machines(r), r.seconds);

// search finds the machines that fit, whatever they ask.
export const search = (r, t) => [`gpu=${r.gpu.replace(/\s/g, '')}`, `count>=${r.count}`, r.region && `region=${r.region}`, r.minTops && `tops>=${r.minTops}`,
  r.minGigabytesPerSecond && `bandwidth>=${r.minGigabytesPerSecond}`, r.minDownMbps && `down>=${r.minDownMbps}`,
  r.cpus && `cpus>=${r.cpus}`, r.memoryMiB && `ram>=${Math.ceil(r.memoryMiB / 1024)}`, r.diskMiB && `disk>=${Math.ceil(r.diskMiB / 1024)}`, r.cuda && `cuda>=${r.cuda}`, r.computeCapability && `compute>=${r.computeCapability}`,
  (t || r.image) && 'sandbox', r.spot && 'spot', !r.allowSimulated && 'real'].filter(Boolean).join(' ');

const quoted = (text) => (/^[\w./:=@%+-]+$/.test(text) ? text : `'${String(text).replaceAll("'", "'\\''")}'`);

// command is what does the same in a terminal.
export const command = (r, t, open) => ['gantry deploy', open ? `--model ${quoted(open.name)}` : t && `--template ${t.name}`, ...Object.entries(r.set ?? {}).filter(([name]) => !t?.parameters?.[name]?.secret).map(([k, v]) => `--set ${quoted(`${k}=${v}`)}`), `--gpu ${quoted(r.gpu)}`, r.count > 1 && `--count ${r.count}`, `--duration ${r.seconds}s`,
  `--max-price ${r.maxPricePerGpuHour}`, r.region && `--region ${quoted(r.region)}`, r.spot && '--spot', r.allowSimulated && '--allow-simulated', r.image && `--image ${quoted(r.image)}`, r.command && `-- ${r.command.map(quoted).join(' ')}`].filter(Boolean).join(' ');
