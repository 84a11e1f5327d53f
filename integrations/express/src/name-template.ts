/** Names made of a request by a template, such as `order:{params.id}`: each value has to be there, alone, and in its place. */
import { DeniedError } from '@countersign/client'
import { assertNoMissingPart } from '@countersign/client/kernel'
import type { Request } from 'express'
import { claimsOf, ownMember } from './agent-of-auth.js'
import { AgentMissing } from './denial-of.js'
import type { FromRequest } from './from-request.js'
import { parametersOf, pathsOf } from './route-parameters.js'

export type TemplateOption = 'agent_id' | 'action' | 'resource'

/** What a template needs of the path of its route. */
export interface NeededParameter {
  readonly option: TemplateOption
  readonly template: string
  readonly parameter: string
}

type Source = 'params' | 'body' | 'query' | 'auth'

interface Placeholder {
  readonly source: Source
  readonly path: readonly string[]
  /** As it is written. */
  readonly text: string
  /** What no value may hold here, as it would be read as the text around it. */
  readonly separators: readonly string[]
}

type Piece = string | Placeholder

const PLACEHOLDER = /^\{(params|body|query|auth)\.([^\s.{}]+(?:\.[^\s.{}]+)*)\}$/

/** What a value may be made of: the decision point takes nothing else; a value is one word of an action. */
const ALLOWED: Readonly<Record<TemplateOption, RegExp>> = {
  agent_id: /^[A-Za-z0-9._:@/+-]+$/,
  action: /^[A-Za-z0-9_-]+$/,
  resource: /^[^\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]+$/u,
}

const needed = new WeakMap<object, readonly NeededParameter[]>()

/** What the templates of an option need; nothing for an option without templates. */
export function neededBy(given: unknown): readonly NeededParameter[] {
  return typeof given === 'function' ? (needed.get(given) ?? []) : []
}

/**
 * A text with placeholders as a function of the request; anything else as it is.
 *
 * @throws TypeError for other braces, and for placeholders with nothing between them
 */
export function fromTemplate<Value>(option: TemplateOption, given: Value): Value | FromRequest<string, Request> {
  if (typeof given !== 'string' || !/[{}]/.test(given)) return given
  const pieces = piecesOf(option, given)
  const fill = (req: Request): string =>
    fitting(
      option,
      pieces.map((piece) => (typeof piece === 'string' ? piece : filledBy(option, given, piece, req))).join(''),
    )
  needed.set(
    fill,
    pieces.flatMap((piece) =>
      typeof piece === 'object' && piece.source === 'params'
        ? [{ option, template: given, parameter: piece.path.join('.') }]
        : [],
    ),
  )
  return fill
}

function piecesOf(option: TemplateOption, template: string): readonly Piece[] {
  const texts = template.split(/(\{[^{}]*\})/).filter((text) => text !== '')
  const structure = structureOf(texts.filter((text) => !PLACEHOLDER.test(text)).join(''), template)
  return texts.map((text, index) => {
    const [, source, path] = PLACEHOLDER.exec(text) ?? []
    if (source === undefined || path === undefined) {
      if (text.endsWith('$') && index < texts.length - 1) {
        throw new TypeError(
          `${option} \`${template}\` has \${ between plain quotes: write {params.name} without the dollar sign, or give a function`,
        )
      }
      if (!/[{}]/.test(text)) return text
      throw new TypeError(
        `${option} \`${template}\` has braces that name no value: write {params.name}, {body.name}, {query.name} or {auth.name}, or give a function`,
      )
    }
    const after = texts[index + 1]
    if (after !== undefined && PLACEHOLDER.test(after)) {
      throw new TypeError(
        `${option} \`${template}\` needs text between ${text} and ${after}, so that they can be told apart`,
      )
    }
    const separators = after === undefined ? structure : [...new Set([...structure, after.charAt(0)])]
    return { source: source as Source, path: path.split('.'), text, separators }
  })
}

/** The colons and slashes of a template, without the colon after its type: a value with more of them would be another name. */
function structureOf(literals: string, template: string): readonly string[] {
  const typeEnds = /^[^{}:]*:/.test(template)
  const rest = typeEnds ? literals.slice(literals.indexOf(':') + 1) : literals
  return [':', '/'].filter((separator) => rest.includes(separator))
}

function filledBy(option: TemplateOption, template: string, piece: Placeholder, req: Request): string {
  const { source, path, text, separators } = piece
  const given = lookUp(source === 'auth' ? claimsOf(req) : req[source], source === 'params' ? [path.join('.')] : path)
  if (given === undefined || given === null) {
    if (option === 'agent_id' && source === 'auth') throw new AgentMissing(`nobody says ${text}`)
    const cause = `${option} \`${template}\`: ${text} is absent${source === 'params' ? `: ${whatThereIs(req)}` : ''}`
    throw refusal(option, text, 'is absent', new TypeError(cause))
  }
  const refuse = (fault: string) =>
    refusal(option, text, fault, new UnfitValue(`${option} \`${template}\`: ${text} ${fault}`))
  if (typeof given !== 'string' && !(typeof given === 'number' && Number.isFinite(given))) {
    throw refuse('is not one string or number')
  }
  const value = String(given)
  if (value.trim() === '') throw refuse('is empty')
  if (!ALLOWED[option].test(value)) throw refuse(`holds what no ${option} may hold here`)
  const separator = separators.find((one) => value.includes(one))
  if (separator !== undefined) {
    throw refuse(`holds \`${separator}\`, which the template uses to tell its parts apart`)
  }
  return value
}

/** Every value was there, so a word such as `undefined` is what the caller sent. */
function fitting(option: TemplateOption, name: string): string {
  try {
    assertNoMissingPart({ [option]: name })
    return name
  } catch (error) {
    if (!DeniedError.isInstance(error)) throw error
    const { reason, detail, cause } = error
    throw new DeniedError(reason, { ...(detail !== null && { detail }), cause: new UnfitValue(`${option}: ${cause}`) })
  }
}

function lookUp(from: unknown, [name, ...more]: readonly string[]): unknown {
  return name === undefined ? from : lookUp(Array.isArray(from) ? undefined : ownMember(from, name), more)
}

function whatThereIs(req: Request): string {
  const path: unknown = req.route?.path
  if (path === undefined) return 'there is no route here'
  const names = [...new Set(pathsOf(path).flatMap((one) => [...parametersOf(one)]))]
  return `the route ${String(path)} has ${names.length === 0 ? 'no parameters' : names.join(', ')}`
}

/** The template is sound, and the caller sent what does not fit: there is nothing to warn the operator of. */
class UnfitValue extends Error {
  override readonly name = 'UnfitValue'
}

/** @param cause for the operator alone */
function refusal(option: TemplateOption, place: string, fault: string, cause: Error): DeniedError {
  return new DeniedError('question_refused', {
    detail: `The ${option} of this call is made of ${place}, which ${fault}. Check what you have sent. The operator finds the cause in the warnings and events of this service.`,
    cause,
  })
}
