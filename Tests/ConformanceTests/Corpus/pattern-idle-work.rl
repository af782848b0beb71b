topic pattern
title Idle work done in before-waiting and exit, like a display transaction
slow 2
observer Commit before-waiting|exit order=2000000
source0 Touch
timer T delay=40
at 80: signal Touch; wake
on Commit: note commit
add Commit common; add Touch default; add T default
run default 0.12 no
--- golden
run default
observer Commit before-waiting mode=default
note commit
timer T mode=default
observer Commit before-waiting mode=default
note commit
source0 Touch mode=default
observer Commit before-waiting mode=default
note commit
observer Commit exit mode=default
note commit
ran default TIMEDOUT
end
