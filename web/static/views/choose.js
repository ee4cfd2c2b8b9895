// What runs, and on which GPU: the first two decisions of Deploy.
import { el, fill, icon, svg } from '../dom.js';
import { seg } from '../parts.js';
import { dollars, memory, percent } from '../show.js';

const glyphs = { vllm: 'chat', 'llama-cpp': 'chat', comfyui: 'image', jupyter: 'book', 'fine-tune': 'tune', ray: 'cluster', ssh: 'term' };

// radios moves between radio buttons by arrows.
const radios = (group) => group.addEventListener('keydown', (e) => {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
  if (!by) return;
  const all = [...group.querySelectorAll('[role=radio]')];
  const next = all[(all.indexOf(document.activeElement) + by + all.length) % all.length];
  e.preventDefault();
  next.focus();
  next.click();
});

const step = (n, id, name, end, ...body) => el('section', { class: 'step', 'aria-labelledby': id }, el('div', { class: 'row wrap' }, el('span', { class: 'step-n' }, n), el('h2', { id }, name), end), body);

const [title, rest] = [(t) => t.title.split(/, | with /)[0], (t) => t.title.slice(t.title.split(/, | with /)[0].length).replace(/^(, | with )/, '') || t.description];

// whatRuns are the templates, and an image of one's own. chosen is called with a template, or null.
export function whatRuns(templates, now, chosen) {
  const tile = (t) => el('button', { type: 'button', class: `tile ${(t?.name ?? '') === (now?.name ?? '') ? 'on' : ''}`.trim(), role: 'radio', 'aria-checked': String((t?.name ?? '') === (now?.name ?? '')), tabindex: (t?.name ?? '') === (now?.name ?? '') ? 0 : -1, 'data-key': `tile-${t?.name ?? ''}`, on: { click: () => chosen(t) } },
    el('span', { class: 'glyph' }, icon(glyphs[t?.name] ?? 'box', 's20')), el('span', { class: 'h3 strong' }, t ? title(t) : 'Your image'), el('span', { class: 'tiny t3' }, t ? rest(t) : 'Any container, or a command'));
  const group = el('div', { class: 'gallery', role: 'radiogroup', 'aria-labelledby': 'what-runs' }, tile(null), templates.map(tile));
  radios(group);
  return step('1', 'what-runs', 'What runs', null, group, now && el('p', { class: 't2 small' }, now.description));
}

// fit is how much of a GPU's memory what runs needs.
function fit(vram, needs) {
  const most = 192 * 1024;
  const whole = (150 * Math.min(vram, most)) / most;
  const used = Math.min(whole, (150 * needs * 1024) / most);
  return svg('svg', { class: 'full', viewBox: '0 0 150 8', role: 'img', 'aria-label': needs ? `Needs ${needs} of ${memory(vram)}` : memory(vram) }, svg('rect', { class: 'f-track', width: whole.toFixed(1), height: 8, rx: 3 }), needs > 0 && svg('rect', { class: needs * 1024 > vram ? 'f-none' : 'f-ink', width: used.toFixed(1), height: 8, rx: 3 }));
}

// holds reports whether a GPU has so many GiB: drivers show up to 7 % less than what is sold.
export const holds = (vramMib, gib) => vramMib * 100 >= gib * 1024 * 93;

// whichGpu are the market's models; inputs are the form's controls, which hold what is chosen.
export function whichGpu({ models, statistics, template, inputs, changed }) {
  const needs = template?.gpu.memoryGiB ?? 0;
  const by = new Map(statistics.models.map((s) => [s.model, s]));
  const group = el('div', { class: 'picks', role: 'radiogroup', 'aria-labelledby': 'which-gpu' });
  const usable = models.filter((m) => by.has(m.name)).concat(models.filter((m) => !by.has(m.name)));
  const draw = () => fill(group, usable.map((m) => {
    const s = by.get(m.name);
    const small = !holds(m.vramMib, needs);
    const on = inputs.gpu.value === m.name;
    const price = s?.lowestAsk ?? m.referencePrice;
    return el('button', {
      type: 'button', class: `pick ${on ? 'on' : ''} ${small || !s ? 'off' : ''}`, role: 'radio', 'aria-checked': String(on), tabindex: on ? 0 : -1, 'data-key': `gpu-${m.name}`,
      on: { click: () => {
        inputs.gpu.value = m.name;
        draw();
        changed(m);
      } },
    }, el('span', { class: 'row between' }, el('span', { class: 'medium' }, m.name), el('span', { class: 't3 tiny' }, memory(m.vramMib))),
    el('span', { class: 'price' }, el('small', {}, s?.lowestAsk ? 'from ' : 'about '), dollars(price), el('small', {}, '/h')), fit(m.vramMib, needs),
    el('span', { class: 'tiny t3' }, small ? `${memory(m.vramMib)} is too small` : s ? `${s.gpus - s.leasedGpus} free${needs ? ` · uses ${percent((needs * 102_400) / m.vramMib)}` : ''}` : 'none in the market'));
  }));
  draw();
  radios(group);
  const count = seg('GPUs', [['1', '1'], ['2', '2'], ['4', '4'], ['8', '8']], inputs.count.value, (n) => {
    inputs.count.value = n;
    changed();
  });
  return step('2', 'which-gpu', 'Which GPU', [needs > 0 && el('span', { class: 't3 small' }, `${title(template)} needs ${needs} GiB at least`), el('span', { class: 'end row' }, el('span', { class: 't3 small' }, 'GPUs'), count)], group);
}

export { step };
