import { Button, Stack, Text, Textarea } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { visibleText } from '../../components/invisible'
import { ErrorNotice, Notice } from '../../components/notice'
import { Panel } from '../../components/panel'
import type { KeptNote } from '../../verifier/kept-note'
import { compareNote, type NoteComparison } from './note-comparison'

/** Compares the log with a saved note. */
export function CompareNote() {
  const [text, setText] = useState('')
  const run = useMutation({ mutationFn: compareNote })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    run.mutate(text)
  }
  return (
    <Panel title="Compare with a saved note">
      <Stack gap="md">
        <form onSubmit={submit}>
          <Stack gap="sm">
            <Textarea
              label="Note"
              description="The server proves that its log continues from this note, and your browser verifies the proof."
              value={text}
              onChange={(event) => {
                setText(event.currentTarget.value)
                // A result is shown only beside the note that it is about.
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
        {run.isError && <ErrorNotice error={run.error} title="The note could not be compared" />}
        {run.data !== undefined && <Compared comparison={run.data} />}
      </Stack>
    </Panel>
  )
}

function Compared({ comparison }: { readonly comparison: NoteComparison }) {
  switch (comparison.result) {
    case 'no note':
      return (
        <Notice kind="error" title="Not a checkpoint note">
          <Text size="sm">Paste the whole note, from the origin line to the signature.</Text>
        </Notice>
      )
    case 'continues':
      return (
        <Notice kind="success" title="The log continues from your note">
          <Text size="sm">
            The first {comparison.kept.size} of its {comparison.newestSize} {leavesOf(comparison.kept)} are the ones
            your note covers.
          </Text>
        </Notice>
      )
    case 'differs':
      return (
        <Notice kind="error" title="The log does not continue from your note">
          <Text size="sm">
            Your note covers {comparison.kept.size} {leavesOf(comparison.kept)} of{' '}
            <span className="mono">{visibleText(comparison.kept.origin)}</span>. {comparison.why}{' '}
            {comparison.kept.isSigned
              ? 'This server signed it, so entries have since been changed or removed, or a backup was restored. Keep the note: it is your evidence.'
              : 'None of the keys that the server publishes now has signed it. The note is from an older key or another server, or it was changed.'}
          </Text>
        </Notice>
      )
  }
}

function leavesOf({ log }: KeptNote): string {
  return log === null ? 'checkpoints' : 'entries'
}
