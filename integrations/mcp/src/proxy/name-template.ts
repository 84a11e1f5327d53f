/** Templates such as `file:{path}`, filled from the arguments of a call. Each value must be present, and must not alter the structure. */
import { DeniedError } from '@countersign/client'
import type { ToolArguments } from '@countersign/client/kernel'

export type TemplateMember = 'action' | 'resource'

interface Placeholder {
  readonly path: readonly string[]
  /** As it is written. */
  readonly text: string
  /** Characters that no value may contain here, because they separate the parts of the template. */
  readonly separators: readonly string[]
}

type Piece = string | Placeholder

const PLACEHOLDER = /^\{([^\s.{}]+(?:\.[^\s.{}]+)*)\}$/

/** The characters of a value: what the decision point accepts, and for an action a single word. */
const ALLOWED: Readonly<Record<TemplateMember, RegExp>> = {
  action: /^[A-Za-z0-9_-]+$/,
  resource: /^[^\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]+$/u,
}

/**
 * Compiles a template to a function of the arguments. The function throws a DeniedError (`question_refused`) that names the faulty
 * argument. A text without placeholders is returned unchanged.
 *
 * @throws TypeError for invalid placeholders, and for placeholders with nothing between them
 */
export function fromTemplate(member: TemplateMember, template: string): string | ((args: ToolArguments) => string) {
  if (!/[{}]/.test(template)) return template
  const pieces = piecesOf(template)
  return (args) => {
    const name = pieces.map((piece) => (typeof piece === 'string' ? piece : filledBy(member, piece, args))).join('')
    const fault = member === 'resource' ? faultOfPath(name) : undefined
    if (fault !== undefined) throw refusal(member, `\`${template}\``, fault, new UnfitValue(`${member} ${fault}`))
    return name
  }
}

function piecesOf(template: string): readonly Piece[] {
  const texts = template.split(/(\{[^{}]*\})/).filter((text) => text !== '')
  const structure = structureOf(texts.filter((text) => !PLACEHOLDER.test(text)).join(''), template)
  return texts.map((text, index) => {
    const path = PLACEHOLDER.exec(text)?.[1]
    if (path === undefined) {
      if (!/[{}]/.test(text)) return text
      throw new TypeError(
        `\`${template}\` has braces that name no argument: write {name}, or {name.member} for a member of an object`,
      )
    }
    const after = texts[index + 1]
    if (after !== undefined && PLACEHOLDER.test(after)) {
      throw new TypeError(`\`${template}\` needs text between ${text} and ${after}, to separate them`)
    }
    const separators = after === undefined ? structure : [...new Set([...structure, after.charAt(0)])]
    return { path: path.split('.'), text, separators }
  })
}

/** The colons and slashes of a template, without the colon after its type: a value with more of them would be another name. */
function structureOf(literals: string, template: string): readonly string[] {
  const typeEnds = /^[^{}:]*:/.test(template)
  const rest = typeEnds ? literals.slice(literals.indexOf(':') + 1) : literals
  return [':', '/'].filter((separator) => rest.includes(separator))
}

function filledBy(member: TemplateMember, { path, text, separators }: Placeholder, args: ToolArguments): string {
  const given = lookUp(args, path)
  if (given === undefined || given === null) {
    // The template may be at fault, of which the operator is warned.
    throw refusal(member, text, 'is missing', new TypeError(`${member}: the call has no argument ${text}`))
  }
  const refuse = (fault: string) => refusal(member, text, fault, new UnfitValue(`${member}: ${text} ${fault}`))
  if (!['string', 'boolean'].includes(typeof given) && !Number.isFinite(given)) {
    throw refuse('is not a string, number or boolean')
  }
  const value = String(given)
  if (value.trim() === '') throw refuse('is empty')
  if (!ALLOWED[member].test(value)) throw refuse(`contains characters that are not allowed in the ${member}`)
  // Servers are known to strip them: what was asked about would not be what is acted on.
  if (/^[\s"'`]|[\s"'`]$/.test(value)) throw refuse('begins or ends with a space or a quote')
  const separator = separators.find((one) => value.includes(one))
  if (separator !== undefined) {
    throw refuse(`contains \`${separator}\`, a separator of the template`)
  }
  return value
}

function lookUp(from: unknown, [name, ...more]: readonly string[]): unknown {
  if (name === undefined) return from
  const isObject = typeof from === 'object' && from !== null && !Array.isArray(from)
  return lookUp(isObject && Object.hasOwn(from, name) ? (from as Record<string, unknown>)[name] : undefined, more)
}

const ESCAPES = /(?:%[0-9a-f]{2})+/gi
/** Of escapes within escapes. */
const MAX_DECODINGS = 4

/** Finds paths that a rule about another path could match, such as with `..`. The `://` of a URL is allowed. */
function faultOfPath(resource: string): string | undefined {
  const given = resource.slice(resource.indexOf(':') + 1)
  const decoded = decodedPath(given)
  if (decoded === undefined) return 'has percent escapes that are not UTF-8, or are nested too deeply'
  // Some servers take look-alikes for slashes, and cut what follows a semicolon off a segment.
  const path = decoded
    .replace(/[⁄∕⧸]/g, '/')
    .replace(/[∖⧵]/g, '\\')
    .replace(/;[^/\\]*/g, '')
  // Spaces, quotes, invisible characters and further dots around it are what some servers and systems strip.
  if (path.split(/[/\\]/).some((segment) => /^[\s\p{C}"'`.]*\.[\s\p{C}"'`.]*$/u.test(segment)))
    return 'has a path segment that consists only of dots, such as `..`'
  if (!/^[A-Za-z][A-Za-z0-9+.-]+:\/\//.test(given) && path.includes('//')) return 'has an empty path segment, `//`'
  return undefined
}

/** As a server that decodes it would read it, however often it was encoded. Undefined where servers could read it in different ways. */
function decodedPath(path: string): string | undefined {
  try {
    let text = path.normalize('NFKC')
    for (let round = 0; round < MAX_DECODINGS; round += 1)
      text = text.replace(ESCAPES, (escapes) => decodeURIComponent(escapes)).normalize('NFKC')
    return text.search(ESCAPES) === -1 ? text : undefined
  } catch {
    return undefined
  }
}

/** The caller sent a value that does not fit the template. The operator gets no warning. */
class UnfitValue extends Error {
  override readonly name = 'UnfitValue'
}

/** @param cause for the operator alone */
function refusal(member: TemplateMember, place: string, fault: string, cause: Error): DeniedError {
  return new DeniedError('question_refused', {
    detail: `The ${member} of this call comes from ${place}, which ${fault}.`,
    cause,
  })
}
