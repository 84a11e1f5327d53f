import type { Agent } from '@countersign/contract'
import { Button, List, Stack, Text, Textarea } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { PlayIcon, StopIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { resumeAgent, suspendAgent } from '../../api/agents'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { useChangedAgent } from './changed-agent'

/** The button that suspends or resumes an agent, with its confirmation. */
export function KillSwitch({ agent }: { readonly agent: Agent }) {
  const [isOpen, dialog] = useDisclosure()
  const [reason, setReason] = useState('')
  const changed = useChangedAgent()
  if (agent.suspended !== null)
    return (
      <>
        <Button leftSection={<PlayIcon size={16} />} onClick={dialog.open}>
          Resume
        </Button>
        <ConfirmDialog
          title={`Resume ${agent.id}?`}
          opened={isOpen}
          onClose={dialog.close}
          action="Resume"
          run={async () => changed(await resumeAgent(agent.id))}
        >
          <Text>
            Within 2 seconds, policies decide for it again on every server. Earlier permits, approvals and reviews
            become valid again unless they have expired.
          </Text>
        </ConfirmDialog>
      </>
    )
  return (
    <>
      <Button color="red.9" leftSection={<StopIcon size={16} />} onClick={dialog.open}>
        Suspend
      </Button>
      <ConfirmDialog
        title={`Suspend ${agent.id}?`}
        opened={isOpen}
        onClose={dialog.close}
        action="Suspend"
        isDangerous
        run={async () => {
          changed(await suspendAgent(agent.id, reason.trim() || null))
          setReason('')
        }}
      >
        <Stack gap="md">
          <div>
            <Text>Takes effect on every server within 2 seconds and lasts until the agent is resumed.</Text>
            <List mt="xs">
              <List.Item>Every request from the agent is denied, whatever the policies say.</List.Item>
              <List.Item>Earlier decisions for it can no longer be approved, claimed or redeemed.</List.Item>
              <List.Item>
                Actions that are already running can still be confirmed or rejected, and its reviews can be declined.
              </List.Item>
            </List>
          </div>
          <Textarea
            label="Reason"
            description="Stored with the suspension and in the audit log."
            maxLength={512}
            autosize
            minRows={2}
            maxRows={6}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
            data-autofocus
          />
        </Stack>
      </ConfirmDialog>
    </>
  )
}
