import { Stack, Text } from '@mantine/core'
import { Badge } from '../../components/badges'
import { CodeBlock } from '../../components/code-block'
import { visibleText } from '../../components/invisible'
import { JsonView } from '../../components/json/json-view'
import { Facts } from '../../components/panel'
import type { Operation } from './openapi'
import type { ShownAnswer } from './send'

export interface AnswerProps {
  readonly operation: Operation
  readonly answer: ShownAnswer
}

/** The response of the server. */
export function Answer({ operation: { id }, answer }: AnswerProps) {
  const { status, headers, body, hasMasked, isEnded } = answer
  const label = `Response of ${id}`
  return (
    <Stack gap="xs">
      <Text role="status" component="div">
        <Badge tone={status < 400 ? 'allow' : 'deny'}>{String(status)}</Badge>{' '}
        {!isEnded && 'Events appear here as they happen. Stop ends the stream.'}
        {body === undefined && 'No body.'}
      </Text>
      <Facts
        facts={headers.map(([name, value]) => [
          name,
          <span key={name} className="mono">
            {visibleText(value)}
          </span>,
        ])}
      />
      {body !== undefined && 'json' in body && <JsonView value={body.json} label={label} />}
      {body !== undefined && 'text' in body && <CodeBlock code={visibleText(body.text)} label={label} />}
      {hasMasked && (
        <Text size="sm" className="quiet">
          Permits, keys and secrets are hidden here.
        </Text>
      )}
    </Stack>
  )
}
