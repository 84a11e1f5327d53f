/** Templates such as `order:{params.id}`, filled from a request. */
import { memberAt, nameTemplate, type TemplateField } from '@countersign/client/kernel'
import type { Request } from 'express'
import { claimsOf } from './agent-of-auth.js'
import { AgentMissing } from './denial-of.js'
import type { FromRequest } from './from-request.js'
import { parametersOf, pathsOf } from './route-parameters.js'

/** A route parameter that a template needs. */
export interface NeededParameter {
  readonly option: TemplateField
  readonly template: string
  readonly parameter: string
}

/** The place of a value in a request. */
interface RequestPlace {
  readonly source: 'params' | 'body' | 'query' | 'auth'
  readonly path: readonly string[]
}

const PLACE = /^(params|body|query|auth)\.([^\s.{}]+(?:\.[^\s.{}]+)*)$/

const SYNTAX = {
  placeOf(text: string): RequestPlace | undefined {
    const [, source, path] = PLACE.exec(text) ?? []
    if (source === undefined || path === undefined) return undefined
    // The name of a parameter may contain a dot.
    return { source: source as RequestPlace['source'], path: source === 'params' ? [path] : path.split('.') }
  },
  help: 'write {params.name}, {body.name}, {query.name} or {auth.name}, or give a function',
}

const needed = new WeakMap<object, readonly NeededParameter[]>()

/** Returns the needs of an option's templates; nothing for an option without templates. */
export function neededBy(given: unknown): readonly NeededParameter[] {
  return typeof given === 'function' ? (needed.get(given) ?? []) : []
}

/**
 * Converts a text with placeholders to a function of the request; returns anything else unchanged.
 *
 * @throws TypeError for other braces, and for adjacent placeholders
 */
export function fromTemplate<Value>(option: TemplateField, given: Value): Value | FromRequest<string, Request> {
  const template = typeof given === 'string' ? nameTemplate(option, given, SYNTAX) : undefined
  if (template === undefined) return given
  const fill = (req: Request): string =>
    template.fill(
      ({ source, path }) => memberAt(source === 'auth' ? claimsOf(req) : req[source], path),
      ({ source }, text) => {
        if (option === 'agent_id' && source === 'auth') throw new AgentMissing(`no agent is given: ${text}`)
        const hint = source === 'params' ? `: ${whatThereIs(req)}` : ''
        return new TypeError(`${option} \`${given}\`: ${text} is missing${hint}`)
      },
    )
  const parameters = template.places.filter(({ source }) => source === 'params')
  needed.set(
    fill,
    parameters.map(({ path }) => ({ option, template: String(given), parameter: path.join('.') })),
  )
  return fill
}

function whatThereIs(req: Request): string {
  const path: unknown = req.route?.path
  if (path === undefined) return 'there is no route here'
  const names = [...new Set(pathsOf(path).flatMap((one) => [...parametersOf(one)]))]
  return `the route ${String(path)} has ${names.length === 0 ? 'no parameters' : names.join(', ')}`
}
