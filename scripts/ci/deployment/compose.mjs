/** Checks the compose files against the published schema, and against what a try-out needs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { parse } from 'yaml'

const FILES = ['compose.yml', 'compose.mongodb.yml']

/**
 * @param {string} root
 * @param {unknown} schema
 */
export function checkCompose(root, schema) {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  const validate = ajv.compile(/** @type {import('ajv/dist/2020.js').AnySchema} */ (schema))
  for (const file of FILES) {
    const project = parse(readFileSync(join(root, file), 'utf8'), { merge: true })
    if (!validate(project)) throw new Error(`${file}: ${ajv.errorsText(validate.errors)}`)
    for (const [name, service] of Object.entries(project.services)) checkService(file, name, service, project.volumes)
  }
  if (validate({ services: { a: { build: '.', read_onyl: true } } })) throw new Error('The schema finds no fault.')
  console.log(`${FILES.join(' and ')} are valid.`)
}

/**
 * @param {string} file
 * @param {string} name
 * @param {any} service
 * @param {Record<string, unknown>} volumes
 */
function checkService(file, name, service, volumes) {
  /** @type {string[]} */
  const mounted = service.volumes.map((/** @type {string} */ volume) => volume.split(':')[0])
  const isOurs = service.build === '.'
  /** @type {[rule: string, holds: boolean][]} */
  const rules = [
    ['its volumes are declared', mounted.every((volume) => volume in volumes)],
    [
      'only this machine reaches it',
      (service.ports ?? []).every((/** @type {string} */ at) => at.startsWith('127.0.0.1:')),
    ],
    ['its file system is read-only', !isOurs || (service.read_only === true && service.tmpfs === '/tmp')],
    [
      'it has no privileges',
      !isOurs || (`${service.cap_drop}` === 'ALL' && `${service.security_opt}` === 'no-new-privileges'),
    ],
  ]
  for (const [rule, holds] of rules) if (!holds) throw new Error(`${file}, ${name}: this does not hold: ${rule}`)
}
