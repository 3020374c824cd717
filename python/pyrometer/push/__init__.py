"""Profiles to a Pyroscope server, while the application runs or afterwards.

A separate process reads what the observed JVMs write into ``raw/``: a recording's chunks as they
are completed, and the plugin's records of tasks. The recording on disk is the queue: a server that
is slow or gone leaves us at an offset, not with profiles in memory, and the application is not
touched at all.

`recording` follows the files, `profiles` builds a chunk's profiles by stage and operator, `server`
speaks to the server, `delivery` sends each profile, `sent` records what was sent, `follower` joins
them. Nothing is imported here: a run that starts the follower as a process needs only `options`.
"""
