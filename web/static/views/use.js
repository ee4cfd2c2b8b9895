// What a lease uses now, as its machine reports it: charts that this tab fills while it is open.
import { events } from '../api.js';
import { el, fill, simulated } from '../dom.js';
import { plot, spaced } from '../plot.js';
import { seg } from '../parts.js';
import { percent, problem, three } from '../show.js';

const gib = 1 << 30;

// kept are the samples of leases that the server has told this tab, each with the seconds after which the next one comes. A view
// that is shown again goes on with them.
const kept = new Map();
const keptFor = 3600;
const every = 2;

// add keeps samples, each once, the oldest first.
function add(lease, samples, step) {
  const known = new Map((kept.get(lease) ?? []).map((s) => [s.at, s]));
  for (const u of samples) {
    const at = Date.parse(u.measuredAt) / 1000;
    if (Number.isFinite(at) && !known.has(at)) known.set(at, { at, u, step });
  }
  const all = [...known.values()].sort((a, b) => a.at - b.at);
  const now = all.at(-1)?.at;
  kept.set(lease, all.filter((s) => s.at >= now - keptFor));
}

// gaps puts a gap where the machine was silent for three samples.
export const gaps = (all) => all.flatMap((s, i) => (i > 0 && s.at - all[i - 1].at > 3 * Math.max(s.step, all[i - 1].step) + 2 ? [{ at: (s.at + all[i - 1].at) / 2, u: null }, s] : [s]));

const mean = (all) => (all.length ? all.reduce((a, b) => a + b, 0) / all.length : null);
const total = (all) => (all.length ? all.reduce((a, b) => a + b, 0) : null);
const ofGpus = (add, f) => (u) => add(u.gpus.filter((g) => !g.missing).map(f).filter((v) => v !== undefined && v !== null));

// sized writes GiB of a whole, if there is one; what is small is in MiB.
function sized(v, whole) {
  const small = v > 0 && v < 0.1;
  const unit = small ? 'MiB' : whole ? '' : 'GiB';
  return spaced(three(small ? v * 1024 : v), [unit, whole && `of ${three(whole)} GiB`].filter(Boolean).join(' '));
}

// charts are the figures: what of a sample each line takes, and how its values are written.
const charts = (u) => {
  const memory = total(u.gpus.map((g) => g.memoryMib)) / 1024 || undefined;
  const limits = u.gpus.filter((g) => !g.missing).map((g) => (g.powerLimitMilliwatts ?? NaN) / 1000);
  const limit = total(limits) || undefined; // NaN where one of them does not tell it
  const cpus = u.cpuLimit;
  const ram = u.memoryLimitBytes ? u.memoryLimitBytes / gib : undefined;
  return [
    u.gpus.length > 0 && { name: 'GPU', lines: [['busy', 's1', ofGpus(mean, (g) => g.percent)]], range: [0, 100], text: ([v]) => (v === null ? '–' : percent(v)) },
    u.gpus.length > 0 && { name: 'GPU memory', lines: [['used', 's1', ofGpus(total, (g) => g.memoryUsedMib && g.memoryUsedMib / 1024)]], range: memory && [0, memory], text: ([v]) => (v === null ? '–' : sized(v, memory)) },
    u.gpus.some((g) => g.powerMilliwatts !== undefined) && { name: 'Power', lines: [['power', 's2', ofGpus(total, (g) => g.powerMilliwatts && g.powerMilliwatts / 1000)]], range: limit && [0, limit], text: ([v]) => (v === null ? '–' : spaced(three(v), limit ? `of ${three(limit)} W` : 'W')) },
    u.gpus.some((g) => g.temperatureC !== undefined) && { name: 'Temperature', lines: [['hottest', 's2', ofGpus((all) => (all.length ? Math.max(...all) : null), (g) => g.temperatureC), false]], range: [30, 90], text: ([v]) => (v === null ? '–' : spaced(three(v), '°C')) },
    u.network && { name: 'Network', lines: [['sent', 's3', (x) => x.network && x.network.sentBytesPerSecond / 1e6], ['received', 's4', (x) => x.network && x.network.receivedBytesPerSecond / 1e6, false]], text: ([s, r]) => (s === null ? '–' : spaced(`${three(s)} ↑ ${three(r)} ↓`, 'MB/s')) },
    { name: 'CPU', lines: [['busy', 's5', (x) => x.cpus]], range: cpus && [0, cpus], text: ([v]) => (v === null ? '–' : spaced(three(v), cpus ? `of ${three(cpus)} cores` : 'cores')) },
    { name: 'Memory', lines: [['used', 's5', (x) => x.memoryBytes / gib]], range: ram && [0, ram], text: ([v]) => (v === null ? '–' : sized(v, ram)) },
  ].filter(Boolean);
};

// use shows it while the view is shown.
export function use(lease, signal) {
  const failure = el('div', {}, el('p', { class: 't3 small' }, 'Asking the machine.'));
  const grid = el('div', { class: 'charts' });
  const note2 = el('span', { class: 't3 small' }, 'as the machine reports it');
  let made = null;
  let shape = '';
  let within = 900;
  const draw = () => {
    const all = gaps(kept.get(lease) ?? []);
    const last = all.findLast((s) => s.u)?.u;
    if (!last) return;
    const now = charts(last);
    if (shape !== now.map((c) => c.name).join()) {
      shape = now.map((c) => c.name).join();
      made = now.map((c) => plot({ ...c, label: `${c.name}, as the machine reports it`, unit: (v) => three(v), size: 36, sync: 'lease', signal, lines: c.lines.map(([name, colour, , filled]) => ({ name, colour, fill: filled !== false && c.lines.length < 3 })) }));
      fill(grid, made.map((p) => p.figure));
      fill(note2, 'as the machine reports it, every 2 s ', last.gpus.some((g) => g.simulated) && simulated());
    }
    const shown = all.filter((s) => s.at >= all.at(-1).at - within);
    made.forEach((p, i) => p.show([shown.map((s) => s.at), ...now[i].lines.map(([, , f]) => shown.map((s) => (s.u ? f(s.u) ?? null : null)))]));
  };
  const follow = async () => {
    try {
      await events(`/page/leases/${encodeURIComponent(lease)}/use`, {}, signal, {
        past: (p) => {
          add(lease, p.samples, p.everySeconds);
          draw();
        },
        use: (u) => {
          failure.replaceChildren();
          add(lease, [u], every);
          draw();
        },
        problem: (p) => fill(failure, problem({ body: p })),
      });
    } catch (err) {
      if (!signal.aborted) fill(failure, problem(err));
    }
    if (!signal.aborted) setTimeout(follow, 5000);
  };
  follow();
  return el('section', { 'aria-label': 'Telemetry' }, el('div', { class: 'row tele' }, el('h2', {}, 'Telemetry'), note2, el('span', { class: 'end' }, seg('Time of the charts', [[300, '5 min'], [900, '15 min'], [3600, '1 h']], within, (s) => {
    within = s;
    draw();
  }))), failure, grid);
}
