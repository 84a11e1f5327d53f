/** If a value is missing, a template gives `order:undefined`, which `order:*` would match. */
import { DeniedError } from '../../errors/denied-error.js'

/** The names in a question. */
export type TemplateField = 'agent_id' | 'action' | 'resource'

/**
 * `undefined` anywhere, in any case; `null`, `NaN` and `Infinity` if a part ends with the word, so that `null-island` is a
 * name; and the texts of JavaScript for an object, an invalid date and a function. Each pattern stops at its own beginning, so
 * that long texts take linear time.
 */
const MISSING = new RegExp(
  [
    '[Uu][Nn][Dd][Ee][Ff][Ii][Nn][Ee][Dd]',
    '(?<![\\p{L}\\p{N}])(?:null|NULL|NaN|Infinity)(?![\\p{L}\\p{N}_-])',
    '\\[object [^\\][]*\\]',
    'Invalid Date',
    '\\[native code\\]|=>|(?<![\\p{L}\\p{N}])function ?[\\w$]{0,100}\\(',
  ].join('|'),
  'u',
)

/**
 * @throws DeniedError (`question_refused`) naming the field and its part: the words `undefined`, `null`, `NaN` and `Infinity`,
 * `[object …]`, `Invalid Date`, the text of a function, and an empty part, between the colons of an agent or a resource, or
 * between the dots of an action
 */
export function assertNoMissingPart(names: { readonly [Field in TemplateField]?: string | null | undefined }): void {
  const { agent_id, action, resource } = names
  for (const [field, text] of Object.entries({ agent_id, action, resource })) {
    if (typeof text === 'string') assertWhole(field, text)
  }
}

function assertWhole(field: string, text: string): void {
  const word = MISSING.exec(text)?.[0]
  if (word === undefined && !hasEmptyPart(field, text)) return
  const fault = `has ${word === undefined ? 'an empty part' : `the part \`${word}\``}, which looks like a value that was missing`
  throw new DeniedError('question_refused', {
    detail: `The ${field} of this call ${fault}. Check what you have sent. The operator finds the cause in the warnings and events of this service.`,
    cause: new TypeError(`${field} \`${text.slice(0, 200)}\` ${fault}`),
  })
}

/**
 * IPv6 addresses after a type: in brackets, or such that they cannot be ids on both sides of a missing one, because they begin
 * like addresses and contain a letter.
 */
const GROUPS = '[\\da-f]{1,4}(?::[\\da-f]{1,4}){0,6}'
const ADDRESS = new RegExp(
  `^[^:[\\]]+:(?:\\[(?:${GROUPS})?::(?:${GROUPS})?\\]|(?=[\\d:]*[a-f])(?:[23][\\da-f]{3}|f[c-f][\\da-f]{2})(?::[\\da-f]{1,4}){0,6}::${GROUPS})(?:/\\d{1,3})?$`,
  'i',
)

function hasEmptyPart(field: string, text: string): boolean {
  if (field === 'resource' && ADDRESS.test(text)) return false
  const parts = text.split(field === 'action' ? '.' : ':').map((part) => part.trim())
  // Names of Amazon have empty parts, such as `arn:aws:s3:::bucket`.
  const mayBeEmptyWithin = field !== 'action' && parts[0] === 'arn'
  return mayBeEmptyWithin ? parts.at(-1) === '' : parts.includes('')
}
