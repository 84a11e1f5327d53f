import type { Json, JsonObject } from '@countersign/contract'
import type { EngineRequest, Facts } from './request.js'

const FIXED_ROOTS = [
  'agent_id',
  'action',
  'resource',
  'resource.type',
  'resource.id',
  'now.hour',
  'now.weekday',
] as const

/** A parsed path of a condition or of a `$ref`. */
export interface Path {
  readonly source: string
  readonly root: (typeof FIXED_ROOTS)[number] | 'context' | 'agent'
  /** The fields to descend by, for the roots `context` and `agent`. */
  readonly fields: readonly string[]
}

/**
 * Policies name the same few paths again and again: one object for all of them stays in the processor's cache. Beyond this
 * many different ones each has its own.
 */
const SHARED_PATHS = 10_000
const sharedPaths = new Map<string, Path>()

export function parsePath(source: string): Path {
  const known = sharedPaths.get(source)
  if (known !== undefined) return known
  const path = parse(source)
  if (sharedPaths.size < SHARED_PATHS) sharedPaths.set(source, path)
  return path
}

function parse(source: string): Path {
  const fixed = FIXED_ROOTS.find((root) => root === source)
  if (fixed !== undefined) return { source, root: fixed, fields: [] }
  const [root, ...fields] = source.split('.')
  if ((root !== 'context' && root !== 'agent') || fields.length === 0) throw new TypeError(`${source} is not a path`)
  return { source, root, fields }
}

/** The value at the path, undefined when there is none. */
export function readPath(path: Path, request: EngineRequest, facts: Facts): Json | undefined {
  switch (path.root) {
    case 'context':
      return readFields(request.context, path.fields)
    case 'agent':
      return readFields(facts.metadata, path.fields)
    case 'agent_id':
      return request.agent_id
    case 'action':
      return request.action
    case 'resource':
      return request.resource ?? undefined
    case 'resource.type':
      return splitResource(request.resource)?.type
    case 'resource.id':
      return splitResource(request.resource)?.id
    case 'now.hour':
      return facts.now.getUTCHours()
    case 'now.weekday':
      return facts.now.getUTCDay() || 7
  }
}

/** Own properties of objects only: neither the prototype nor the entries of an array can be reached. */
function readFields(from: JsonObject | null, fields: readonly string[]): Json | undefined {
  let value: Json | undefined = from
  for (let at = 0; at < fields.length; at += 1) {
    const field = fields[at] as string
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, field))
      return undefined
    value = (value as JsonObject)[field]
  }
  return value
}

function splitResource(resource: string | null): { type: string; id: string } | undefined {
  const colon = resource?.indexOf(':') ?? -1
  if (resource === null || colon === -1) return undefined
  return { type: resource.slice(0, colon), id: resource.slice(colon + 1) }
}
