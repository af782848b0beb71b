topic timer
title A late one-shot fires at once on the next run
trace callouts
timer T delay=10
add T default
sleep 50
run default 1 no
--- golden
run default
timer T mode=default
ran default FINISHED
end
