// The parameters of a template, as controls of a form.
import { choice, el, field } from '../dom.js';
import { amount, cost, exact, micro, plural, span } from '../show.js';
import { title } from './more.js';

export function control(name, p) {
  if (p.type === 'choice') return choice(`set.${name}`, p.choices.map((c) => [c, c]), p.default);
  if (p.type === 'boolean') return choice(`set.${name}`, [['true', 'yes'], ['false', 'no']], p.default || 'false');
  const number = p.type === 'integer' || p.type === 'number';
  return el('input', {
    name: `set.${name}`, value: p.default, required: p.required, autocomplete: p.secret ? 'new-password' : 'off', spellcheck: 'false', maxlength: 4096,
    type: p.secret ? 'password' : number ? 'number' : 'text', min: number && p.min, max: number && p.max, step: p.type === 'integer' ? 1 : number && 'any', pattern: !number && p.pattern,
  });
}

export const fieldOf = (name, e, p) => field(title(name), e, `${p.description}${p.required ? '; needed' : ''}${p.secret ? '; the machine’s provider could read it' : ''}`);

// firstOf is the parameter that a person decides first: one that is needed, else the model.
export const firstOf = (t) => {
  const all = Object.entries(t.parameters ?? {});
  return (all.find(([, p]) => p.required) ?? all.find(([name]) => name === 'model'))?.[0];
};

// parameters are the controls of a template, besides one that is elsewhere.
export const parameters = (t, besides) => Object.entries(t.parameters ?? {}).filter(([name]) => name !== besides).map(([name, p]) => fieldOf(name, control(name, p), p));

// values are what a form has for them, without those that are as they were.
export function values(form, t) {
  const set = {};
  for (const [name, p] of Object.entries(t.parameters ?? {})) {
    const { value } = form.elements[`set.${name}`];
    if (value !== (p.default ?? '')) set[name] = value;
  }
  return set;
}

// tryCost is the most that a try of a template costs.
export const tryCost = (t) => amount(cost(micro(t.try.maxPricePerGpuHour) ?? 0n, t.gpu.count, t.try.minutes * 60));

// needs says what a template needs, and what trying it costs.
export const needs = (t) => el('p', { class: 't3 small' }, `Needs ${plural(t.gpu.count, 'GPU')}${t.gpu.memoryGiB ? ` of ${t.gpu.memoryGiB} GiB at least` : ''}`,
  t.volume && `, a volume ${t.volume}`, t.ports?.length > 0 && `; listens on ${t.ports.map((p) => `${p.port} (${p.name})`).join(', ')}`,
  t.health && `; takes up to ${t.health.deadline.replace(/(?<=m)0s$/, '').replace('m', ' minutes')} to start`, t.try.maxPricePerGpuHour && [`. A try of ${span(t.try.minutes * 60)} on ${t.gpu.count} × ${t.try.gpu} costs at most `, el('strong', {}, exact(tryCost(t)))], '. Image ', el('code', {}, t.image), '.');
