import { Button, Stack, Text, Textarea } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { visibleText } from '../../components/invisible'
import { ErrorNotice, Notice } from '../../components/notice'
import { Panel } from '../../components/panel'
import type { KeptNote } from '../../verifier/kept-note'
import { compareNote, type NoteComparison } from './note-comparison'

/** Compares the log with a note that somebody has kept. */
export function CompareNote() {
  const [text, setText] = useState('')
  const run = useMutation({ mutationFn: compareNote })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    run.mutate(text)
  }
  return (
    <Panel title="Compare with a note that you kept">
      <Stack gap="md">
        <form onSubmit={submit}>
          <Stack gap="sm">
            <Textarea
              label="Note"
              description="The server proves that its log goes on from it. This browser verifies the proof."
              value={text}
              onChange={(event) => {
                setText(event.currentTarget.value)
                // A verdict never stands beside another note than its own.
                run.reset()
              }}
              rows={6}
              spellCheck={false}
              autoComplete="off"
              styles={{
                description: { color: 'var(--quiet)' },
                input: { fontFamily: 'var(--mantine-font-family-monospace)', overflowWrap: 'anywhere' },
              }}
            />
            <Button
              type="submit"
              style={{ alignSelf: 'flex-start' }}
              disabled={text.trim() === ''}
              loading={run.isPending}
            >
              Compare
            </Button>
          </Stack>
        </form>
        {run.isError && <ErrorNotice error={run.error} title="The note was not compared" />}
        {run.data !== undefined && <Compared comparison={run.data} />}
      </Stack>
    </Panel>
  )
}

function Compared({ comparison }: { readonly comparison: NoteComparison }) {
  switch (comparison.result) {
    case 'no note':
      return (
        <Notice kind="error" title="Not the note of a checkpoint">
          <Text size="sm">Paste all lines of it, from the origin to the signature.</Text>
        </Notice>
      )
    case 'goes on':
      return (
        <Notice kind="success" title="The log goes on from your note">
          <Text size="sm">
            The first {comparison.kept.size} of its {comparison.newestSize} {leavesOf(comparison.kept)} are those that
            your note stands for.
          </Text>
        </Notice>
      )
    case 'does not go on':
      return (
        <Notice kind="error" title="The log does not go on from your note">
          <Text size="sm">
            Your note is of {comparison.kept.size} {leavesOf(comparison.kept)} of{' '}
            <span className="mono">{visibleText(comparison.kept.origin)}</span>. {comparison.why}{' '}
            {comparison.kept.isSigned
              ? 'This server has signed it. So entries were changed or removed since, or a backup was restored. Keep the note: it is the evidence.'
              : 'No key that the server publishes now has signed it. So it is of an older key, of another server, or was changed.'}
          </Text>
        </Notice>
      )
  }
}

function leavesOf({ log }: KeptNote): string {
  return log === null ? 'checkpoints' : 'entries'
}
