import type { Session } from '@countersign/contract'
import { Button, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Parameter } from '../../api/openapi'
import { CodeBlock } from '../../components/code-block'
import { JsonView } from '../../components/json/json-view'
import { BODIES } from './bodies'
import { curlOf } from './curl'
import { useCatalogue } from './document-context'
import { exampleOf } from './example'
import type { Operation, ProblemCode } from './openapi'
import { Prose } from './prose'
import classes from './reference.module.css'
import { nameOf, resolved, typeOf } from './schema'
import { Members, Opened, ValueFacts } from './schema-view'
import { TryIt } from './try-it'

export interface OperationSectionProps {
  readonly operation: Operation
  readonly session: Session | null
}

/** One endpoint: its request, its response, an example, and a form that calls it. */
export function OperationSection({ operation, session }: OperationSectionProps) {
  const { schemas } = useCatalogue()
  const [isTrying, setTrying] = useState(false)
  const { id, method, path, summary, parameters, body, answer, problems } = operation
  const ofCall = parameters.filter(({ in: place }) => place !== 'header')
  const headers = parameters.filter(({ in: place }) => place === 'header')
  const example = body && (BODIES[id] ?? exampleOf(body.schema, schemas))
  return (
    <section id={id} className={classes.operation} aria-labelledby={`title-${id}`}>
      <Title order={3} id={`title-${id}`} fz="1rem">
        <Link to="/docs" hash={id} className={classes.endpoint}>
          <span className={classes.method} data-method={method}>
            {method}
          </span>
          <code className={classes.path}>{path}</code>
        </Link>
      </Title>
      <Text mt={4}>
        <Prose text={summary} />
      </Text>
      <Needs operation={operation} />
      <div className={classes.columns}>
        <div>
          <Parameters title="Parameters" parameters={ofCall} />
          {body !== null && (
            <>
              <Part title={body.isRequired ? 'Body' : 'Body, may be empty'} />
              <Members schema={resolved(body.schema, schemas)} isSent />
            </>
          )}
          <Part title={`Response: ${answer.status}`} />
          <Text size="sm">
            <Prose text={answer.description} />
          </Text>
          {answer.schema !== null && (
            <Opened title={`Members of ${nameOf(answer.schema) ?? typeOf(answer.schema)}`}>
              <Members schema={resolved(answer.schema, schemas)} isSent={false} />
            </Opened>
          )}
          <Opened title="Headers">
            <Parameters title="Request" parameters={headers} />
            <Part title="Response" />
            <ul className={classes.members}>
              {answer.headers.map(({ name, description }) => (
                <li key={name}>
                  <code className={classes.name}>{name}</code> <Prose text={description} />
                </li>
              ))}
            </ul>
          </Opened>
          <Opened title={`Problems (${problems.length})`}>
            <Problems id={id} problems={problems} />
          </Opened>
        </div>
        <div>
          <Part title="Example" />
          <CodeBlock code={curlOf(operation, window.location.origin, example)} label={`${id} with curl`} />
          {answer.schema !== null && answer.mediaType === 'application/json' && (
            <Opened title="Example response">
              <JsonView value={exampleOf(answer.schema, schemas)} label={`Example response of ${id}`} />
            </Opened>
          )}
          <Button mt="sm" size="xs" variant="default" aria-expanded={isTrying} onClick={() => setTrying(!isTrying)}>
            {isTrying ? 'Close' : 'Try'} <span className="visually-hidden">{id}</span>
          </Button>
          {isTrying && <TryIt operation={operation} session={session} example={example} />}
        </div>
      </div>
    </section>
  )
}

function Part({ title }: { readonly title: string }) {
  return (
    <Title order={4} fz="0.875rem" className={classes.part}>
      {title}
    </Title>
  )
}

function Needs({ operation: { scopes, id } }: { readonly operation: Operation }) {
  return (
    <Text size="sm" className="quiet">
      <code>{id}</code> needs{' '}
      {scopes.names.length === 0
        ? 'any key'
        : scopes.names.map((name, index) => (
            <span key={name}>
              {index > 0 && (scopes.needsAll ? ' and ' : ' or ')}
              <code>{name}</code>
            </span>
          ))}
    </Text>
  )
}

function Parameters({ title, parameters }: { readonly title: string; readonly parameters: readonly Parameter[] }) {
  if (parameters.length === 0) return null
  return (
    <>
      <Part title={title} />
      <ul className={classes.members}>
        {parameters.map(({ name, in: place, required = false, schema }) => (
          <li key={name}>
            <div className={classes.member}>
              <code className={classes.name}>{name}</code>
              <span className="quiet">
                {typeOf(schema)}, in the {place}
              </span>
              {required && <span className={classes.required}>required</span>}
            </div>
            <ValueFacts schema={schema} isSent />
          </li>
        ))}
      </ul>
    </>
  )
}

function Problems({ id, problems }: { readonly id: string; readonly problems: readonly ProblemCode[] }) {
  return (
    <table className={classes.problems} aria-label={`Problems of ${id}`}>
      <thead>
        <tr>
          <th scope="col">Status</th>
          <th scope="col">Code</th>
          <th scope="col">When</th>
        </tr>
      </thead>
      <tbody>
        {problems.map(({ status, code, title }) => (
          <tr key={code}>
            <td>{status}</td>
            <td>
              <a href={`/docs/errors#${code}`}>
                <code>{code}</code>
              </a>
            </td>
            <td>{title}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
