topic block
title A block queueing itself, with a wake, runs once or twice per pass, never endlessly in one drain
trace callouts
block B
timer T delay=60
on B: perform B default; wake
on B #5: stop
add T default; perform B default
run default 2 no
count B
--- golden
run default
block B mode=default
block B mode=default
block B mode=default
block B mode=default
block B mode=default
block B mode=default
ran default STOPPED
count B = 6
end
