/** Renders the Helm chart with many values, and checks what Kubernetes would get, and what the chart refuses. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { readConfig } from '../../../server/dist/index.js'
import { lastOf, pairsOf, stagesOf } from '../dockerfile.mjs'

/** The newest version that has schemas. */
export const NEWEST = '1.37.0'
/** The oldest version that the chart takes. */
export const OLDEST = '1.30.0'

const EMBEDDED = ['issuer=https://decide.example.com']
const MONGODB = [...EMBEDDED, 'store=mongodb', 'replicas=3', 'mongodb.existingSecret=countersign-mongodb']
const EVERYTHING = [
  ...[`image.digest=sha256:${'0'.repeat(64)}`, 'imagePullSecrets[0].name=registry', 'config.RETENTION_DAYS=90'],
  ...['bootstrapKey.existingSecret=first-key', 'metricsToken.existingSecret=metrics', 'persistence.storageClass=fast'],
  ...['persistence.annotations.a=b', 'ingress.enabled=true', 'ingress.className=nginx', 'ingress.tlsSecret=tls'],
  ...['ingress.annotations.a=b', 'service.type=LoadBalancer', 'service.port=80', 'service.annotations.a=b'],
  ...['serviceMonitor.enabled=true', 'serviceMonitor.labels.release=prometheus', 'serviceAccount.annotations.a=b'],
  ...[
    'networkPolicy.ingressFrom[0].namespaceSelector.matchLabels.a=b',
    'networkPolicy.extraEgress[0].ports[0].port=4318',
  ],
  ...['networkPolicy.mongodb.to[0].ipBlock.cidr=10.0.0.0/8', 'podAnnotations.a=b', 'podLabels.c=d'],
  ...['nodeSelector.disk=ssd', 'tolerations[0].operator=Exists', 'priorityClassName=high'],
]
/** @type {Record<string, readonly string[]>} */
const CASES = {
  'the embedded store': EMBEDDED,
  'the embedded store, everything on': [...EMBEDDED, ...EVERYTHING],
  'the embedded store, stopped for a restore': [...EMBEDDED, 'replicas=0'],
  MongoDB: MONGODB,
  'MongoDB, everything on': [...MONGODB, ...EVERYTHING],
  'MongoDB, one server': [...MONGODB, 'replicas=1'],
  'everything off that can be': [
    ...[...MONGODB, 'networkPolicy.enabled=false', 'podDisruptionBudget.enabled=false', 'serviceAccount.name=mine'],
  ],
  'no webhooks': [...EMBEDDED, 'networkPolicy.webhookPorts=null'],
  'long names': [...EMBEDDED, `fullnameOverride=${'n'.repeat(80)}`],
}

/** @type {readonly [values: readonly string[], message: RegExp][]} */
const REFUSED = [
  [[], /issuer is required: the address/],
  [[...EMBEDDED, 'replicas=2'], /replicas must be 1 with store: embedded, but is 2: .* set store: mongodb/],
  [[...EMBEDDED, 'store=mongodb'], /mongodb\.existingSecret is required with store: mongodb/],
  [[...EMBEDDED, 'mongodb.existingSecret=a'], /store is embedded\. Set store: mongodb/],
  [
    [...MONGODB, 'config.MONGODB_URL=mongodb://a'],
    /config\.MONGODB_URL would show a secret .* Use mongodb\.existingSecret/,
  ],
  [
    [...EMBEDDED, 'config.METRICS_TOKEN=a'],
    /config\.METRICS_TOKEN would show a secret .* Use metricsToken\.existingSecret/,
  ],
  [[...EMBEDDED, 'config.COUNTERSIGN_BOOTSTRAP_KEY=a'], /would show a secret .* Use bootstrapKey\.existingSecret/],
  [[...EMBEDDED, 'config.DATA_DIR=/a'], /config\.DATA_DIR is set by the chart\. Use persistence/],
  [['issuer=decide.example.com'], /issuer/],
  [['issuer=https://user:password@decide.example.com'], /issuer/],
  [[...EMBEDDED, 'store=postgres'], /store.*embedded.*mongodb/],
  [[...EMBEDDED, 'persistence.accessModes[0]=ReadWriteMany'], /accessModes/],
  [[...EMBEDDED, 'replica=1'], /replica/],
]

/**
 * @typedef {{ apiVersion: string, kind: string, metadata: { name: string, labels: Record<string, string> }, spec: any, [member: string]: any }} Manifest
 * @typedef {{ helm: string, kubeconform: string, schemas: string, root: string }} Tools
 */

/**
 * @param {Tools} tools
 * @param {readonly string[]} versions of Kubernetes, for which `tools.schemas` has schemas
 */
export function checkChart(tools, versions) {
  const { status, stdout, stderr } = spawnSync(tools.helm, ['lint', '--strict', chartOf(tools)], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`helm lint: ${stdout}${stderr}`)
  for (const version of versions) {
    const texts = Object.entries(CASES).map(([name, values]) => checkedText(tools, name, values, version))
    // At once: it reads the schemas each time that it starts.
    conform(tools, texts.join('\n'), version)
  }
  checkThatFaultsAreFound(tools)
  for (const [values, message] of REFUSED) refuses(tools, values, message)
  console.log(`The chart renders ${Object.keys(CASES).length} sets of values, and refuses ${REFUSED.length}.`)
}

/**
 * @param {Tools} tools
 * @param {string} name
 * @param {readonly string[]} values
 * @param {string} version
 */
function checkedText(tools, name, values, version) {
  const text = rendered(tools, values, version)
  const manifests = manifestsOf(text)
  const faults = [...faultsOf(manifests, tools.root), ...faultsOfStore(manifests, values)]
  if (faults.length > 0) throw new Error(`The chart with ${name}: ${faults.join('; ')}`)
  return text
}

/**
 * @param {string} text
 * @returns {Manifest[]}
 */
function manifestsOf(text) {
  const documents = parseAllDocuments(text).map((document) => document.toJS())
  return documents.filter((manifest) => manifest !== null)
}

/** @param {Tools} tools */
const chartOf = ({ root }) => join(root, 'deploy', 'helm', 'countersign')

/**
 * @param {Tools} tools
 * @param {readonly string[]} values
 * @param {string} version of Kubernetes
 */
function template(tools, values, version) {
  const set = values.flatMap((value) => ['--set', value])
  const args = ['template', 'release', chartOf(tools), '--kube-version', version, ...set]
  return spawnSync(tools.helm, args, { encoding: 'utf8' })
}

/** @param {Parameters<typeof template>} args */
function rendered(...args) {
  const { status, stdout, stderr } = template(...args)
  if (status !== 0) throw new Error(`helm template failed: ${stderr}`)
  return stdout
}

/**
 * @param {Tools} tools
 * @param {readonly string[]} values
 * @param {RegExp} message
 */
function refuses(tools, values, message) {
  const { status, stderr } = template(tools, values, NEWEST)
  if (status === 0 || !message.test(stderr))
    throw new Error(`The chart must refuse ${values.join(' ')} with ${message}, but said: ${stderr || 'nothing'}`)
}

/**
 * The schema of a ServiceMonitor is the Prometheus operator's.
 * @param {Tools} tools
 * @param {string} text
 * @param {string} version
 */
function conform({ kubeconform, schemas }, text, version) {
  const args = ['-strict', '-kubernetes-version', version, '-schema-location', schemas, '-skip', 'ServiceMonitor']
  const { status, stdout, stderr } = spawnSync(kubeconform, args, { input: text, encoding: 'utf8' })
  if (status !== 0) throw new Error(`kubeconform for Kubernetes ${version}: ${stdout}${stderr}`)
}

/**
 * A misspelled member and an open container must not pass.
 * @param {Tools} tools
 */
function checkThatFaultsAreFound(tools) {
  const text = rendered(tools, EMBEDDED, NEWEST)
  let conforms = true
  try {
    conform(tools, text.replace('drop:', 'dorp:'), NEWEST)
  } catch (error) {
    conforms = !`${error}`.includes('dorp')
  }
  const open = manifestsOf(text.replace('readOnlyRootFilesystem: true', ''))
  if (conforms || faultsOf(open, tools.root).length !== 1) throw new Error('The checks of the chart find no fault.')
}

/**
 * What holds for all values.
 * @param {readonly Manifest[]} manifests
 * @param {string} root
 * @returns {string[]} what does not hold
 */
function faultsOf(manifests, root) {
  const image = /** @type {import('../dockerfile.mjs').Stage} */ (
    stagesOf(readFileSync(join(root, 'Dockerfile'), 'utf8')).at(-1)
  )
  const servers = one(manifests, 'StatefulSet')
  const { metadata, spec: pod } = servers.spec.template
  const [container] = pod.containers
  const services = all(manifests, 'Service')
  const port = container.ports[0]
  const user = lastOf(image, 'USER')
  /** @type {[rule: string, holds: boolean][]} */
  const rules = [
    ['pods run as the user of the image', `${pod.securityContext.runAsUser}:${pod.securityContext.fsGroup}` === user],
    ['pods run as no root', pod.securityContext.runAsNonRoot === true],
    ['pods have the seccomp profile', pod.securityContext.seccompProfile.type === 'RuntimeDefault'],
    ['keys stay closed to the group', pod.securityContext.fsGroupChangePolicy === 'OnRootMismatch'],
    ['containers write into volumes only', container.securityContext.readOnlyRootFilesystem === true],
    ['containers gain no privileges', container.securityContext.allowPrivilegeEscalation === false],
    ['containers have no capabilities', `${container.securityContext.capabilities.drop}` === 'ALL'],
    ['pods have no token', pod.automountServiceAccountToken === false && pod.enableServiceLinks === false],
    ['the chart has no secret in it', !manifests.some(({ kind }) => kind === 'Secret')],
    ['the server takes its settings', configFault(container, image) === null],
    ['the port is the one of the image', `${port.containerPort}` === lastOf(image, 'EXPOSE')],
    ['the volume is the one of the image', container.volumeMounts[0].mountPath === lastOf(image, 'VOLUME')],
    ['a stop has time for everything', pod.terminationGracePeriodSeconds >= 5 + 10 + 2 + 6],
    ['names are short enough', manifests.every((manifest) => manifest.metadata.name.length <= 63)],
    ['the headless service is there', services.some((service) => service.metadata.name === servers.spec.serviceName)],
    ['services find the pods', services.every(({ spec }) => isPart(spec.selector, metadata.labels))],
    ['services find the port', services.every(({ spec }) => spec.ports[0].targetPort === port.name)],
    ...['NetworkPolicy', 'PodDisruptionBudget'].flatMap((kind) =>
      all(manifests, kind).map(({ spec }) => {
        const { matchLabels } = spec.podSelector ?? spec.selector
        return /** @type {[string, boolean]} */ ([`the ${kind} finds the pods`, isPart(matchLabels, metadata.labels)])
      }),
    ),
    ...all(manifests, 'ServiceMonitor').map(({ spec }) => {
      const found = services.filter((service) => isPart(spec.selector.matchLabels, service.metadata.labels))
      return /** @type {[string, boolean]} */ (['the ServiceMonitor finds one service', found.length === 1])
    }),
    ...all(manifests, 'Ingress').map(({ spec }) => {
      const { name } = spec.rules[0].http.paths[0].backend.service
      const isRight = services.some((service) => service.metadata.name === name) && spec.rules[0].host !== ''
      return /** @type {[string, boolean]} */ (['the Ingress leads to the service', isRight])
    }),
  ]
  return rules.filter(([, holds]) => !holds).map(([rule]) => `this does not hold: ${rule}`)
}

/**
 * @param {readonly Manifest[]} manifests
 * @param {readonly string[]} values
 */
function faultsOfStore(manifests, values) {
  const isMongodb = values.includes('store=mongodb')
  const { replicas, volumeClaimTemplates, template } = one(manifests, 'StatefulSet').spec
  const names = template.spec.containers[0].env.map((/** @type {{ name: string }} */ { name }) => name)
  const [budget] = all(manifests, 'PodDisruptionBudget')
  const [policy] = all(manifests, 'NetworkPolicy')
  /** @type {number[]} */
  const ports = (policy?.spec.egress ?? []).flatMap((/** @type {any} */ rule) =>
    rule.ports.map((/** @type {any} */ { port }) => port),
  )
  /** @type {[rule: string, holds: boolean][]} */
  const rules = [
    ['only MongoDB has several servers', isMongodb || replicas <= 1],
    ['the URL is in a secret', names.includes('MONGODB_URL') === isMongodb],
    ['each server has its volume', volumeClaimTemplates.length === 1],
    [
      'one server has no disruption budget',
      budget === undefined || (replicas > 1 && budget.spec.maxUnavailable < replicas),
    ],
    ['only MongoDB opens its port', policy === undefined || ports.includes(27_017) === isMongodb],
  ]
  return rules.filter(([, holds]) => !holds).map(([rule]) => `this does not hold: ${rule}`)
}

/**
 * What the server itself says of its environment.
 * @param {any} container
 * @param {import('../dockerfile.mjs').Stage} image
 */
function configFault(container, image) {
  const secrets = { MONGODB_URL: 'mongodb://user:password@mongodb/countersign' }
  const given = container.env.map((/** @type {any} */ { name, value }) => [
    name,
    value ?? secrets[/** @type {keyof typeof secrets} */ (name)] ?? 'a-secret-of-more-than-thirty-two-characters',
  ])
  try {
    readConfig({ ...pairsOf(lastOf(image, 'ENV')), ...Object.fromEntries(given) })
    return null
  } catch (error) {
    return error
  }
}

/**
 * @param {readonly Manifest[]} manifests
 * @param {string} kind
 */
const all = (manifests, kind) => manifests.filter((manifest) => manifest.kind === kind)

/**
 * @param {readonly Manifest[]} manifests
 * @param {string} kind
 * @returns {Manifest}
 */
function one(manifests, kind) {
  const [found, ...others] = all(manifests, kind)
  if (found === undefined || others.length > 0) throw new Error(`The chart must have one ${kind}.`)
  return found
}

/**
 * @param {Record<string, string>} part
 * @param {Record<string, string>} whole
 */
function isPart(part, whole) {
  return Object.entries(part).every(([name, value]) => whole[name] === value)
}
