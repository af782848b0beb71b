topic query
title The next fire date of a mode while its only timer fires is still that timer's date
flags timing
slow 2
quantum 500
timer T delay=20 interval=5250
on T: nextfire default
add T default
nextfire default
run default 0.06 no
nextfire default
--- golden
nextfire default = 0
run default
timer T mode=default
nextfire default = -500
ran default TIMEDOUT
nextfire default = 5000
end
