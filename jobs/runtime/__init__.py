"""What runs: one worker process is a claimer, executors, a settler, a heartbeat, a scheduler and a janitor."""
