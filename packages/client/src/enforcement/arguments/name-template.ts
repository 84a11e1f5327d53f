/**
 * Makes names of what a caller sends, by a template such as `order:{id}`: each value must be present, a single part, and in its
 * place. The same rule for every integration with templates.
 *
 * Source: docs/enforcement.md "Templates".
 */
import { DeniedError } from '../../errors/denied-error.js'
import { assertNoMissingPart, type TemplateField } from './missing-part.js'
import { faultOfPath } from './path-fault.js'

/** The syntax between the braces, which differs by integration. */
export interface TemplateSyntax<Place> {
  /** The place that a text between braces names; undefined if it names none. */
  readonly placeOf: (text: string) => Place | undefined
  /** Says what to write instead of braces that name nothing. */
  readonly help: string
}

export interface NameTemplate<Place> {
  readonly places: readonly Place[]
  /**
   * The name for one call.
   *
   * @param read returns the value at a place; undefined or null if there is none
   * @param whyMissing returns the error for the operator if there is none, or throws another refusal for the caller
   * @throws DeniedError (`question_refused`) naming the place and what is wrong with its value
   */
  readonly fill: (read: (place: Place) => unknown, whyMissing: (place: Place, text: string) => Error) => string
}

interface Placeholder<Place> {
  readonly place: Place
  /** The placeholder as written. */
  readonly text: string
  /** The characters that no value may contain here, because they separate the parts of the template. */
  readonly separators: readonly string[]
}

const BRACES = /(\{[^{}]*\})/

/** The characters of a resource: none that is invisible, or that a display could take for a command. */
export const VISIBLE = /^[^\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]+$/u

/** The characters of a value: those that the decision point accepts, and for an action a single word. */
const ALLOWED: Readonly<Record<TemplateField, RegExp>> = {
  agent_id: /^[A-Za-z0-9._:@/+-]+$/,
  action: /^[A-Za-z0-9_-]+$/,
  resource: VISIBLE,
}

/**
 * Undefined for a text without braces, which is a name itself.
 *
 * @throws TypeError for braces that name nothing, and for placeholders with nothing between them
 */
export function nameTemplate<Place>(
  field: TemplateField,
  template: string,
  syntax: TemplateSyntax<Place>,
): NameTemplate<Place> | undefined {
  if (!/[{}]/.test(template)) return undefined
  const pieces = piecesOf(field, template, syntax)
  return {
    places: pieces.flatMap((piece) => (typeof piece === 'string' ? [] : [piece.place])),
    fill(read, whyMissing) {
      const filled = (piece: Placeholder<Place>): string => {
        const given = read(piece.place)
        if (given !== undefined && given !== null) return fitting(field, piece, given)
        throw refusal(field, piece.text, 'is missing', whyMissing(piece.place, piece.text))
      }
      return whole(field, template, pieces.map((piece) => (typeof piece === 'string' ? piece : filled(piece))).join(''))
    },
  }
}

/** The value at a path of names, through own members of objects only. */
export function memberAt(from: unknown, [name, ...more]: readonly string[]): unknown {
  if (name === undefined) return from
  const isObject = typeof from === 'object' && from !== null && !Array.isArray(from)
  return memberAt(isObject && Object.hasOwn(from, name) ? (from as Record<string, unknown>)[name] : undefined, more)
}

function piecesOf<Place>(
  field: TemplateField,
  template: string,
  { placeOf, help }: TemplateSyntax<Place>,
): readonly (string | Placeholder<Place>)[] {
  const fault = (what: string) => new TypeError(`${field} \`${template}\` ${what}`)
  const texts = template.split(BRACES).filter((text) => text !== '')
  const structure = structureOf(texts.filter((text) => !BRACES.test(text)).join(''), template)
  return texts.map((text, index) => {
    const after = texts[index + 1]
    const place = BRACES.test(text) ? placeOf(text.slice(1, -1)) : undefined
    if (place === undefined) {
      if (text.endsWith('$') && after !== undefined)
        throw fault('has a dollar sign before braces: write it without one')
      if (/[{}]/.test(text)) throw fault(`has braces that name no value: ${help}`)
      return text
    }
    if (after !== undefined && BRACES.test(after))
      throw fault(`needs text between ${text} and ${after}, so that they can be told apart`)
    return { place, text, separators: after === undefined ? structure : [...new Set([...structure, after.charAt(0)])] }
  })
}

/** The colons and slashes of a template, without the colon after its type. A value that contains one would change the name's parts. */
function structureOf(literals: string, template: string): readonly string[] {
  const typeEnds = /^[^{}:]*:/.test(template)
  const rest = typeEnds ? literals.slice(literals.indexOf(':') + 1) : literals
  return [':', '/'].filter((separator) => rest.includes(separator))
}

function fitting(field: TemplateField, { text, separators }: Placeholder<unknown>, given: unknown): string {
  const refuse = (fault: string) => refusal(field, text, fault, new UnfitValue(`${field}: ${text} ${fault}`))
  if (!['string', 'boolean'].includes(typeof given) && !Number.isFinite(given))
    throw refuse('is not a string, number or boolean')
  const value = String(given)
  if (value.trim() === '') throw refuse('is empty')
  if (!ALLOWED[field].test(value)) throw refuse(`contains characters that are not allowed in the ${field}`)
  // Some servers strip them, and would act on another name than the one that was asked about.
  if (/^[\s"'`]|[\s"'`]$/.test(value)) throw refuse('begins or ends with a space or a quote')
  const separator = separators.find((one) => value.includes(one))
  if (separator !== undefined) throw refuse(`contains \`${separator}\`, a separator of the template`)
  return value
}

/** Every value was present, so the caller itself sent a word such as `undefined`. */
function whole(field: TemplateField, template: string, name: string): string {
  const fault = field === 'resource' ? faultOfPath(name) : undefined
  if (fault !== undefined) throw refusal(field, `\`${template}\``, fault, new UnfitValue(`${field} ${fault}`))
  try {
    assertNoMissingPart({ [field]: name })
    return name
  } catch (error) {
    if (!DeniedError.isInstance(error)) throw error
    const { reason, detail, cause } = error
    throw new DeniedError(reason, { detail: detail ?? undefined, cause: new UnfitValue(`${field}: ${cause}`) })
  }
}

/** The template is sound, and the caller's value does not fit: no reason to warn the operator. */
class UnfitValue extends Error {
  override readonly name = 'UnfitValue'
}

/** @param cause only for the operator */
function refusal(field: TemplateField, place: string, fault: string, cause: Error): DeniedError {
  const detail = `The ${field} of this call comes from ${place}, which ${fault}.`
  return new DeniedError('question_refused', { detail, cause })
}
